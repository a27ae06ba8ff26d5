use super::*;
use crate::data::text::{Tokenizer, tokenizer};
use serde_json::json;

/// Returns a tokenizer of two characters with this normalizer and decoder.
fn file(normalizer: &Value, decoder: &Value) -> Vec<u8> {
    let model = json!({"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []});
    json!({"version": "1.0", "added_tokens": [], "normalizer": normalizer, "decoder": decoder, "model": model})
        .to_string()
        .into_bytes()
}

fn replace(pattern: &Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn sequence(name: &str, steps: Vec<Value>) -> Value {
    json!({"type": "Sequence", name: steps})
}

fn encode(normalizer: &Value, text: &str) -> Result<usize, String> {
    let tokenizer = Tokenizer::from_json(&file(normalizer, &Value::Null)).map_err(|e| e.to_string())?;
    tokenizer.encode(text).map(|tokens| tokens.len()).map_err(|e| e.to_string())
}

#[test]
fn a_normalizer_that_multiplies_a_text_is_refused() {
    let double = || replace(&json!({"String": "a"}), "aa");
    let text = "a".repeat(9_600);
    assert_eq!(encode(&sequence("normalizers", vec![double(); 4]), &text), Ok(16 * 9_600));
    let regex = |pattern: &str| replace(&json!({ "Regex": pattern }), &"a".repeat(1 << 10));
    let hostile = [
        sequence("normalizers", vec![double(); 20]),
        sequence("normalizers", vec![sequence("normalizers", vec![double(); 10]); 2]),
        replace(&json!({"String": "a"}), &"a".repeat(1 << 20)),
        sequence("normalizers", vec![json!({"type": "Prepend", "prepend": "a".repeat(1 << 22)}); 2]),
        regex("a"),
        // This pattern matches in every place, which a small piece of the text does not show.
        regex("(?=[a]{9000})"),
    ];
    for normalizer in &hostile {
        let error = encode(normalizer, &text).unwrap_err();
        let says = "the tokenizer failed: its normalizer lengthens a text of ";
        assert!(error.starts_with(says) && error.ends_with("to more than 4 MB, the limit"), "{error}");
    }
    let long = sequence("normalizers", vec![json!({"type": "NFC"}); 65]);
    assert!(encode(&long, &text).unwrap_err().contains("more than 64 steps"));
}

/// Bounds of tables are far above their real growth: such texts are measured and accepted.
#[test]
fn common_normalizers_are_used() {
    let steps = vec![
        json!({"type": "NFKC"}),
        json!({"type": "Lowercase"}),
        replace(&json!({"Regex": " {2,}"}), "b"),
        replace(&json!({"String": " "}), "b"),
    ];
    let growth = TokenizerFile::check(&file(&sequence("normalizers", steps.clone()), &Value::Null)).unwrap().growth;
    assert!(growth.needs_measure(1 << 20));
    assert_eq!(encode(&sequence("normalizers", steps), &"Ab ".repeat(1 << 18)), Ok(3 << 18));
}

/// The table has one replacement of 5 bytes after a trie of 4 bytes.
#[test]
fn the_longest_replacement_of_a_table_is_found() {
    assert_eq!(longest_replacement("BAAAAAECAwRhYgBhYmNkZQA="), 5);
    assert_eq!(longest_replacement("!"), 0);
}

#[test]
fn decoders_and_tokens_are_bounded() {
    let check = |bytes: &[u8]| TokenizerFile::check(bytes).map(|_| ()).map_err(|e| e.to_string());
    let llama = vec![replace(&json!({"String": "▁"}), " "), json!({"type": "ByteFallback"}), json!({"type": "Fuse"})];
    assert_eq!(check(&file(&Value::Null, &sequence("decoders", llama))), Ok(()));
    let double = vec![replace(&json!({"String": "a"}), "aa"); 7];
    let error = check(&file(&Value::Null, &sequence("decoders", double))).unwrap_err();
    assert!(error.contains("its decoder may lengthen a token 128 times"), "{error}");
    let token = json!({"model": {"vocab": {"a".repeat(5_000): 0}}}).to_string();
    assert!(check(token.as_bytes()).unwrap_err().contains("a token of 5,000 bytes"));
    let merges = vec!["a b"; tokenizer::MAX_VOCABULARY * 2 + 1].join("\",\"");
    let error = check(format!("{{\"model\":{{\"merges\":[\"{merges}\"]}}}}").as_bytes()).unwrap_err();
    assert!(error.contains("it has 2,097,153 merges, more than 2,097,152, the limit"), "{error}");
}
