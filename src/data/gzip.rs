//! Streaming reader of gzip files, such as FlyWire's tables, which are `.csv.gz`.
//!
//! flate2 decompresses; this module limits the decompressed size and describes the errors.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, ErrorKind, Read};

/// Maximum decompressed size, bytes. Tables in memory have a lower limit.
const MAX: u64 = 1 << 34;

/// Content of one or several gzip members in sequence.
pub struct GzReader<R> {
    /// Decoder; `None` for an empty file.
    from: Option<MultiGzDecoder<R>>,
    n_read: u64,
}

impl<R: BufRead> GzReader<R> {
    /// Checks the first bytes. Fails if they are not the magic number of gzip; an empty file is accepted.
    pub fn new(mut from: R) -> io::Result<Self> {
        let start = from.fill_buf()?;
        if start.is_empty() {
            return Ok(Self { from: None, n_read: 0 });
        }
        // A buffer may end after one byte.
        if start[0] != 0x1F || start.get(1).is_some_and(|b| *b != 0x8B) {
            return Err(io::Error::new(ErrorKind::InvalidData, "not gzip, although its name ends in .gz"));
        }
        Ok(Self { from: Some(MultiGzDecoder::new(from)), n_read: 0 })
    }
}

impl<R: BufRead> Read for GzReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let Some(from) = &mut self.from else { return Ok(0) };
        let n = from.read(to).map_err(describe_error)?;
        self.n_read += n as u64;
        if self.n_read > MAX {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("it decompresses to more than {} GB, the limit", MAX >> 30),
            ));
        }
        Ok(n)
    }
}

/// Describes an error: errors of the decoder mean damage, and errors of the disk are unchanged.
fn describe_error(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            io::Error::new(ErrorKind::InvalidData, format!("the compressed text is damaged: {error}"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = vec![];
        GzReader::new(packed)?.read_to_end(&mut out).map(|_| out)
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    /// Output of Python's gzip: stored, with fixed codes (and a name), with dynamic codes.
    const STORED: &str = "1f8b08000000000000ff010d00f2ff7072652c706f73740a312c320a648d9d830d000000";
    const FIXED: &str = "1f8b08080000000000ff65646765732e637376002b284ad529c82f2ee132d43142c100904a464b19000000";
    const OWN: &str = "1f8b08000000000000ff4551490e03310cbaf72d7330b6e3240fea26f554cdffd54a13c8d10830c6767cdfcfd779c3f1b93f\
         ce5bae715e236acdde2e2008e46214156339c08c964e284942d178ca99d6de048dc50aa7308a01659f496890d57c095ba757\
         d1be0475b2ba84835e53f6b3749052c0980c505ae802b8ae42e8d2dcd7373552bba552735d6562a48a52e56eaa0afb316e8b\
         e961947b1a58aa167909ec9b39249ff20c2d0a68fbff17fc4a286724c3ff00fa666c3d48020000";

    /// Returns a table with the header `root_id,side` and a thousand lines.
    fn table() -> Vec<u8> {
        let line =
            |i: u64| format!("{},{}\n", 720_575_940_600_000_000 + i * i * 977, ["left", "right"][i as usize % 2]);
        ("root_id,side\n".to_owned() + &(0..1000).map(line).collect::<String>()).into_bytes()
    }

    #[test]
    fn members_written_by_python_are_read() {
        let line = |i: u32| format!("{},{}\n", i * i, ["right", "left"][i as usize % 2]);
        let squares = (0..60).map(line).collect::<String>().into_bytes();
        assert_eq!(unpacked(&bytes(STORED)).unwrap(), b"pre,post\n1,2\n");
        assert_eq!(unpacked(&bytes(FIXED)).unwrap(), b"pre,post\n1,2\n1,2\n1,2\n1,2\n");
        assert_eq!(unpacked(&bytes(OWN)).unwrap(), squares);
        let both = [bytes(STORED), bytes(FIXED)].concat();
        assert_eq!(unpacked(&both).unwrap().len(), 13 + 25, "members one after the other");
        assert!(unpacked(b"").unwrap().is_empty());
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        for good in [STORED, FIXED, OWN].map(bytes) {
            for cut in 1..good.len() {
                assert!(unpacked(&good[..cut]).is_err(), "cut at {cut}");
            }
            for at in 0..good.len() {
                for bit in 0..8 {
                    let mut bad = good.clone();
                    bad[at] ^= 1 << bit;
                    // The header has bytes that do not affect the content.
                    let _ = unpacked(&bad).map(|out| assert!(at < 10 || out.len() < 10_000));
                }
            }
        }
        assert!(unpacked(b"pre,post,w\n1,2,3\n").unwrap_err().to_string().contains("not gzip"));
    }

    #[test]
    fn more_than_a_window_is_read() {
        let Ok(mut child) = std::process::Command::new("gzip")
            .args(["-9", "-c"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
        else {
            return eprintln!("SKIPPED: no `gzip` to pack with");
        };
        let (mut to, text) = (child.stdin.take().unwrap(), table().repeat(20));
        let packed = std::thread::scope(|scope| {
            let theirs = &text;
            scope.spawn(move || io::Write::write_all(&mut to, theirs).unwrap());
            child.wait_with_output().unwrap().stdout
        });
        assert!(unpacked(&packed).unwrap() == text, "{} bytes from {}", text.len(), packed.len());
    }
}
