//! Text that was compressed with gzip (RFC 1951 and 1952), read as it comes: FlyWire's tables are `.csv.gz`.

use std::io::{self, BufRead, Read};

/// How far back a match reaches.
const WINDOW: usize = 1 << 15;
/// Unpacked at a time.
const CHUNK: usize = 1 << 16;
/// Longest code, bits.
const LONGEST: u32 = 15;
/// What nothing reasonable unpacks to.
const MOST: u64 = 1 << 34;

/// Bases and extra bits of the lengths 257 to 285.
const LENGTHS: [(u16, u8); 29] = {
    let mut all = [(258, 0); 29];
    let (mut base, mut i) = (3, 0);
    while i < 28 {
        let extra = if i < 8 { 0 } else { (i as u8 - 4) / 4 };
        all[i] = (base, extra);
        base += 1 << extra;
        i += 1;
    }
    all
};

/// Bases and extra bits of the distances.
const DISTANCES: [(u16, u8); 30] = {
    let mut all = [(1, 0); 30];
    let (mut base, mut i) = (1_u32, 0);
    while i < 30 {
        let extra = if i < 4 { 0 } else { (i as u8 - 2) / 2 };
        all[i] = (base as u16, extra);
        base += 1 << extra;
        i += 1;
    }
    all
};

/// The order in which the lengths of length codes come.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (mut c, mut bit) = (n as u32, 0);
        while bit < 8 {
            c = if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 };
            bit += 1;
        }
        table[n] = c;
        n += 1;
    }
    table
};

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the compressed text is damaged: {what}"))
}

struct Bits<R> {
    from: R,
    held: u64,
    n: u32,
}

impl<R: BufRead> Bits<R> {
    fn byte(&mut self) -> io::Result<Option<u8>> {
        let Some(byte) = self.from.fill_buf()?.first().copied() else { return Ok(None) };
        self.from.consume(1);
        Ok(Some(byte))
    }

    /// Holds so many bits, or all there are.
    fn fill(&mut self, n: u32) -> io::Result<()> {
        while self.n < n
            && let Some(byte) = self.byte()?
        {
            self.held |= u64::from(byte) << self.n;
            self.n += 8;
        }
        Ok(())
    }

    fn take(&mut self, n: u32) -> io::Result<u32> {
        self.fill(n)?;
        if self.n < n {
            return Err(damaged("it ends too early"));
        }
        let bits = self.held & ((1 << n) - 1);
        (self.held, self.n) = (self.held >> n, self.n - n);
        Ok(bits as u32)
    }

    /// The next symbol of a code. Near the end there are fewer bits than the longest code has.
    fn symbol(&mut self, codes: &Codes) -> io::Result<usize> {
        self.fill(LONGEST)?;
        let entry = codes.0[(self.held & ((1 << LONGEST) - 1)) as usize];
        let length = u32::from(entry & 15);
        if length == 0 || length > self.n {
            return Err(damaged("a code nobody has"));
        }
        (self.held, self.n) = (self.held >> length, self.n - length);
        Ok(usize::from(entry >> 4))
    }

    fn align(&mut self) {
        let odd = self.n % 8;
        (self.held, self.n) = (self.held >> odd, self.n - odd);
    }
}

/// Codes of a block: for every bit pattern its symbol and length.
struct Codes(Vec<u16>);

impl Codes {
    fn new(lengths: &[u8]) -> io::Result<Self> {
        let mut table = vec![0_u16; 1 << LONGEST];
        let mut code = 0_u32;
        for length in 1..=LONGEST {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, l)| u32::from(**l) == length) {
                if code >= 1 << length {
                    return Err(damaged("too many codes"));
                }
                let reversed = code.reverse_bits() >> (32 - length);
                for i in (reversed..1 << LONGEST).step_by(1 << length) {
                    table[i as usize] = (symbol as u16) << 4 | length as u16;
                }
                code += 1;
            }
            code <<= 1;
        }
        Ok(Self(table))
    }
}

enum Block {
    /// A member of the file is to begin.
    Member,
    /// A block is to begin.
    Head,
    Stored(u32),
    Coded(Codes, Codes),
    Done,
}

/// Unpacks while it is read.
pub struct Gunzip<R> {
    bits: Bits<R>,
    block: Block,
    is_last: bool,
    /// The last [`WINDOW`] bytes, and what nobody has read yet.
    out: Vec<u8>,
    given: usize,
    crc: u32,
    /// Bytes of this member, and of all.
    len: u32,
    total: u64,
}

impl<R: BufRead> Gunzip<R> {
    /// Unpacks what is read from a file.
    pub fn new(from: R) -> Self {
        let bits = Bits { from, held: 0, n: 0 };
        Self { bits, block: Block::Member, is_last: false, out: vec![], given: 0, crc: !0, len: 0, total: 0 }
    }

    fn push(&mut self, byte: u8) {
        self.crc = CRC[((self.crc ^ u32::from(byte)) & 255) as usize] ^ (self.crc >> 8);
        self.len = self.len.wrapping_add(1);
        self.out.push(byte);
    }

    /// Makes more to be read, unless there is no more.
    fn unpack(&mut self) -> io::Result<()> {
        let old = self.given.saturating_sub(WINDOW);
        self.out.drain(..old);
        self.given -= old;
        while self.out.len() - self.given < CHUNK {
            match std::mem::replace(&mut self.block, Block::Done) {
                Block::Done => break,
                Block::Member => self.block = self.member()?,
                Block::Head if self.is_last => self.block = self.trailer()?,
                Block::Head => self.block = self.head()?,
                Block::Stored(left) => self.stored(left)?,
                Block::Coded(lengths, distances) => self.coded(lengths, distances)?,
            }
        }
        self.total += (self.out.len() - self.given) as u64;
        if self.total > MOST { Err(damaged("it unpacks to more than 16 GB")) } else { Ok(()) }
    }

    /// The head of a member, or the end.
    fn member(&mut self) -> io::Result<Block> {
        self.bits.align();
        let Some(first) = self.bits.byte()? else { return Ok(Block::Done) };
        let head: Vec<u32> = (0..9).map(|_| self.bits.take(8)).collect::<io::Result<_>>()?;
        if (first, head[0], head[1]) != (0x1f, 0x8b, 8) {
            return Err(damaged("this is not gzip"));
        }
        let flags = head[2];
        if flags & 4 != 0 {
            let n = self.bits.take(16)?;
            (0..n).try_for_each(|_| self.bits.take(8).map(drop))?;
        }
        for flag in [8, 16] {
            while flags & flag != 0 && self.bits.take(8)? != 0 {}
        }
        if flags & 2 != 0 {
            self.bits.take(16)?;
        }
        (self.is_last, self.crc, self.len) = (false, !0, 0);
        Ok(Block::Head)
    }

    fn trailer(&mut self) -> io::Result<Block> {
        self.bits.align();
        let crc = self.bits.take(16)? | self.bits.take(16)? << 16;
        let len = self.bits.take(16)? | self.bits.take(16)? << 16;
        if crc != !self.crc || len != self.len {
            return Err(damaged("its checksum is another"));
        }
        Ok(Block::Member)
    }

    fn head(&mut self) -> io::Result<Block> {
        self.is_last = self.bits.take(1)? == 1;
        match self.bits.take(2)? {
            0 => {
                self.bits.align();
                let (len, complement) = (self.bits.take(16)?, self.bits.take(16)?);
                if len != !complement & 0xFFFF { Err(damaged("a length that is none")) } else { Ok(Block::Stored(len)) }
            }
            1 => {
                let lengths = |n: usize| {
                    if n < 144 {
                        8
                    } else if n < 256 {
                        9
                    } else if n < 280 {
                        7
                    } else {
                        8
                    }
                };
                let lengths: Vec<u8> = (0..288).map(lengths).collect();
                Ok(Block::Coded(Codes::new(&lengths)?, Codes::new(&[5; 30])?))
            }
            2 => self.tables(),
            _ => Err(damaged("a block of no known sort")),
        }
    }

    /// The codes of a block that brings its own.
    fn tables(&mut self) -> io::Result<Block> {
        let n_lengths = self.bits.take(5)? as usize + 257;
        let n_all = n_lengths + self.bits.take(5)? as usize + 1;
        let mut meta = [0_u8; 19];
        let n_meta = self.bits.take(4)? as usize + 4;
        for at in &ORDER[..n_meta] {
            meta[*at] = self.bits.take(3)? as u8;
        }
        let meta = Codes::new(&meta)?;
        let mut all: Vec<u8> = vec![];
        while all.len() < n_all {
            let (value, n) = match self.bits.symbol(&meta)? {
                16 => (*all.last().ok_or_else(|| damaged("a repeat of nothing"))?, self.bits.take(2)? + 3),
                17 => (0, self.bits.take(3)? + 3),
                18 => (0, self.bits.take(7)? + 11),
                length => (length as u8, 1),
            };
            all.extend(std::iter::repeat_n(value, n as usize));
        }
        if all.len() > n_all || all[256] == 0 {
            return Err(damaged("codes that do not fit"));
        }
        Ok(Block::Coded(Codes::new(&all[..n_lengths])?, Codes::new(&all[n_lengths..])?))
    }

    fn stored(&mut self, left: u32) -> io::Result<()> {
        for _ in 0..left {
            let byte = self.bits.take(8)? as u8;
            self.push(byte);
        }
        self.block = Block::Head;
        Ok(())
    }

    /// Symbols until the block ends, or until there is enough to be read.
    fn coded(&mut self, lengths: Codes, distances: Codes) -> io::Result<()> {
        while self.out.len() - self.given < CHUNK {
            match self.bits.symbol(&lengths)? {
                literal @ 0..=255 => self.push(literal as u8),
                256 => {
                    self.block = Block::Head;
                    return Ok(());
                }
                symbol => self.copy(symbol - 257, &distances)?,
            }
        }
        self.block = Block::Coded(lengths, distances);
        Ok(())
    }

    fn copy(&mut self, length: usize, distances: &Codes) -> io::Result<()> {
        let (base, extra) = *LENGTHS.get(length).ok_or_else(|| damaged("a length nobody has"))?;
        let length = u32::from(base) + self.bits.take(extra.into())?;
        let symbol = self.bits.symbol(distances)?;
        let (base, extra) = *DISTANCES.get(symbol).ok_or_else(|| damaged("a distance nobody has"))?;
        let distance = (u32::from(base) + self.bits.take(extra.into())?) as usize;
        for _ in 0..length {
            let at = self.out.len().checked_sub(distance).ok_or_else(|| damaged("it refers to what was before it"))?;
            self.push(self.out[at]);
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            self.unpack()?;
        }
        let n = to.len().min(self.out.len() - self.given);
        to[..n].copy_from_slice(&self.out[self.given..self.given + n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = vec![];
        Gunzip::new(packed).read_to_end(&mut out).map(|_| out)
    }

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    /// As Python's gzip wrote them: stored, with fixed codes (and a name), with codes of its own.
    const STORED: &str = "1f8b08000000000000ff010d00f2ff7072652c706f73740a312c320a648d9d830d000000";
    const FIXED: &str = "1f8b08080000000000ff65646765732e637376002b284ad529c82f2ee132d43142c100904a464b19000000";
    const OWN: &str = "1f8b08000000000000ff4551490e03310cbaf72d7330b6e3240fea26f554cdffd54a13c8d10830c6767cdfcfd779c3f1b93f\
         ce5bae715e236acdde2e2008e46214156339c08c964e284942d178ca99d6de048dc50aa7308a01659f496890d57c095ba757\
         d1be0475b2ba84835e53f6b3749052c0980c505ae802b8ae42e8d2dcd7373552bba552735d6562a48a52e56eaa0afb316e8b\
         e961947b1a58aa167909ec9b39249ff20c2d0a68fbff17fc4a286724c3ff00fa666c3d48020000";

    /// `root_id,side` and a thousand lines.
    fn table() -> Vec<u8> {
        let line =
            |i: u64| format!("{},{}\n", 720_575_940_600_000_000 + i * i * 977, ["left", "right"][i as usize % 2]);
        ("root_id,side\n".to_owned() + &(0..1000).map(line).collect::<String>()).into_bytes()
    }

    #[test]
    fn what_others_packed_is_unpacked() {
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
                    // The head has bytes that say nothing about the content.
                    let _ = unpacked(&bad).map(|out| assert!(at < 10 || out.len() < 10_000));
                }
            }
        }
        assert!(unpacked(b"pre,post,w\n1,2,3\n").unwrap_err().to_string().contains("not gzip"));
    }

    #[test]
    fn more_than_a_window_is_unpacked() {
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
