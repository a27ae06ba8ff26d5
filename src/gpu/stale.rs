//! Finds PTX builds that do not match the kernel sources: for the build script, which warns, and for a test.
//!
//! A row of `prebuilt/SOURCES` holds the checksum of a build's inputs, the checksum of its text, and its name. The inputs are
//! the target, the flags, the source and all its includes. If two sets of builds made from different changes of the sources are
//! merged, builds that both changes affect are stale, however the text was merged. `kernels/build.py` writes the rows and
//! rebuilds stale builds.

use std::collections::{BTreeMap, BTreeSet};

/// Reads a file under `kernels`; returns no bytes for a missing file.
type Read<'a> = &'a dyn Fn(&str) -> Vec<u8>;

/// Returns the names in `prebuilt` of builds that are missing, have other inputs, were changed, or are no longer declared.
pub fn translations(read: Read<'_>) -> Vec<String> {
    let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
    let (modules, rows) = (text("gen/modules.txt"), text("prebuilt/SOURCES"));
    let recorded: BTreeMap<&str, &str> = rows.lines().filter_map(record).collect();
    let mut sources = Sources { read, known: BTreeMap::new() };
    let (mut stale, mut declared) = (vec![], BTreeSet::new());
    for (stem, file, targets, flags) in modules.lines().filter_map(module) {
        for target in targets.split(' ') {
            let name = format!("{stem}.{target}.ptx");
            let inputs = sources.sum_of_inputs(file, target, flags);
            let sums = format!("{inputs} {}", checksum(&read(&format!("prebuilt/{name}"))));
            if recorded.get(name.as_str()) != Some(&sums.as_str()) {
                stale.push(name.clone());
            }
            declared.insert(name);
        }
    }
    stale.extend(recorded.keys().filter(|name| !declared.contains(**name)).map(|name| (*name).to_owned()));
    stale
}

/// Parses a row of `prebuilt/SOURCES` into name and both checksums; `None` for comments and conflict markers.
fn record(row: &str) -> Option<(&str, &str)> {
    let (sums, name) = row.rsplit_once(' ')?;
    let is_sums = sums.len() == 17 && sums.chars().all(|c| c.is_ascii_hexdigit() || c == ' ');
    is_sums.then_some((name, sums))
}

/// Parses a row of `gen/modules.txt` into stem, file, targets and flags; `None` for comments and incomplete rows.
fn module(row: &str) -> Option<(&str, &str, &str, &str)> {
    let mut parts = row.split(" | ").filter(|_| !row.starts_with('#'));
    Some((parts.next()?, parts.next()?, parts.next()?, parts.next()?))
}

/// Cache of source files: checksum and includes of each.
struct Sources<'a> {
    read: Read<'a>,
    known: BTreeMap<String, (String, Vec<String>)>,
}

impl Sources<'_> {
    /// Returns the checksum of a build's inputs, computed as by `sum_of_inputs` in `kernels/build.py`.
    fn sum_of_inputs(&mut self, file: &str, target: &str, flags: &str) -> String {
        let (mut found, mut left) = (BTreeSet::new(), vec![file.to_owned()]);
        while let Some(file) = left.pop() {
            if found.insert(file.clone()) {
                left.extend(self.source(&file).1.iter().cloned());
            }
        }
        let rows: String = found.iter().map(|file| format!("{} {file}\n", self.known[file].0)).collect();
        checksum(format!("{target} {flags}\n{rows}").as_bytes())
    }

    fn source(&mut self, file: &str) -> &(String, Vec<String>) {
        self.known.entry(file.to_owned()).or_insert_with(|| {
            let bytes = (self.read)(file);
            let text = String::from_utf8_lossy(&bytes);
            let included = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.split('"').next());
            (checksum(&bytes), included.map(str::to_owned).collect())
        })
    }
}

/// Returns the CRC-32, computed as by zlib and `kernels/build.py`.
fn checksum(bytes: &[u8]) -> String {
    let mut crc = !0_u32;
    for byte in bytes {
        crc = crc >> 8 ^ TABLE[(crc as u8 ^ byte) as usize];
    }
    format!("{:08x}", !crc)
}

/// CRC-32 of every byte value. The table saves time, because PTX builds are tens of MB and build scripts are not optimised.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 8 * 256 {
        let before = if i % 8 == 0 { i as u32 / 8 } else { table[i / 8] };
        table[i / 8] = before >> 1 ^ (0xedb8_8320 & (before & 1).wrapping_neg());
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    const SCAN: &str = "scan.compute_75.ptx";
    const STEP: &str = "step.compute_75.ptx";

    /// Files under `kernels` by name.
    type Folder = BTreeMap<&'static str, String>;

    fn reader(folder: &Folder) -> impl Fn(&str) -> Vec<u8> {
        |name| folder.get(name).cloned().unwrap_or_default().into_bytes()
    }

    fn stale(folder: &Folder) -> Vec<String> {
        translations(&reader(folder))
    }

    fn changed(folder: &Folder, changes: &[(&'static str, &str)]) -> Folder {
        let mut folder = folder.clone();
        folder.extend(changes.iter().map(|(name, text)| (*name, (*text).to_owned())));
        folder
    }

    /// Returns the rows of `SOURCES` for the present contents of the folder.
    fn rows(folder: &Folder) -> String {
        let read = reader(folder);
        let mut sources = Sources { read: &read, known: BTreeMap::new() };
        let row = |stem: &str| {
            let sum = sources.sum_of_inputs(&format!("{stem}.cu"), "compute_75", "--fmad=false");
            let name = format!("{stem}.compute_75.ptx");
            format!("{sum} {} {name}\n", checksum(&read(&format!("prebuilt/{name}"))))
        };
        format!("# A comment.\n{}", ["scan", "step"].map(row).concat())
    }

    /// Returns a folder whose builds are fresh.
    fn fresh() -> Folder {
        let folder = changed(
            &Folder::new(),
            &[
                (
                    "gen/modules.txt",
                    "# A comment.\n75 80\nscan | scan.cu | compute_75 | --fmad=false\nstep | step.cu | compute_75 | --fmad=false\n",
                ),
                ("scan.cu", "#include \"key.cuh\"\nscan"),
                ("key.cuh", "#include \"narrow.cuh\"\nkey"),
                ("narrow.cuh", "narrow"),
                ("step.cu", "step"),
                ("prebuilt/scan.compute_75.ptx", "translation of scan"),
                ("prebuilt/step.compute_75.ptx", "translation of step"),
            ],
        );
        changed(&folder, &[("prebuilt/SOURCES", &rows(&folder))])
    }

    #[test]
    fn the_checksum_is_zlibs() {
        assert_eq!(checksum(b"123456789"), "cbf43926");
    }

    #[test]
    fn a_change_of_an_input_or_of_the_text_is_noticed() {
        assert_eq!(stale(&fresh()), [""; 0]);
        for (name, text) in [
            ("scan.cu", "#include \"key.cuh\"\nother"),
            ("narrow.cuh", "other, two includes away"),
            (
                "gen/modules.txt",
                "scan | scan.cu | compute_75 | --fmad=true\nstep | step.cu | compute_75 | --fmad=false\n",
            ),
            ("gen/modules.txt", "step | step.cu | compute_75 | --fmad=false\n"),
            ("prebuilt/scan.compute_75.ptx", "an older body"),
        ] {
            assert_eq!(stale(&changed(&fresh(), &[(name, text)])), [SCAN], "{name}");
        }
    }

    /// One side changed a header, the other side two sources; both built their PTX, and git merged the text.
    #[test]
    fn two_sets_that_were_merged_are_stale() {
        let ours = changed(&fresh(), &[("narrow.cuh", "ours"), ("prebuilt/scan.compute_75.ptx", "translation by us")]);
        let theirs = [
            ("scan.cu", "#include \"key.cuh\"\ntheirs"),
            ("step.cu", "theirs"),
            ("prebuilt/scan.compute_75.ptx", "translation by them"),
        ];
        let theirs = changed(&fresh(), &theirs);
        let merged = |ptx, rows: &str| {
            let both = [("narrow.cuh", "ours"), ("prebuilt/scan.compute_75.ptx", ptx), ("prebuilt/SOURCES", rows)];
            stale(&changed(&theirs, &both))
        };
        let (of_us, of_them) = (rows(&ours), rows(&theirs));
        let of_both = format!("<<<<<<< ours\n{of_us}=======\n{of_them}>>>>>>> theirs (a message)\n");
        assert_eq!(merged("translation by us", &of_us), [SCAN, STEP]);
        assert_eq!(merged("translation by them", &of_them), [SCAN]);
        assert_eq!(merged("translation by us", &of_both), [SCAN]);
        assert_eq!(merged("a merge of both", &of_them), [SCAN]);
    }
}
