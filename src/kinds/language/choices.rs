//! Choices in the parameters of every language kind.

use crate::choices;

choices! {
    /// Conversion of text into tokens.
    pub enum TokenizerChoice {
        /// A token per byte of UTF-8: 256 tokens.
        Bytes,
        /// A token per character that occurs in the text.
        #[title("Characters")]
        Chars,
        /// Byte-pair encoding, from a `tokenizer.json` file.
        #[title("Byte-pair encoding")]
        Bpe,
    }
}

choices! {
    /// A grammar that writes text with a known entropy.
    pub enum GrammarStyle {
        /// Tales of animals.
        Animals,
        /// Logs of a harbour.
        Harbour,
    }
}
