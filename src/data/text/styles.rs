//! Built-in grammars in two styles, so that the data of a running training can be changed.

use super::{grammar::Grammar, words};

/// A built-in grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Tales of animals.
    #[default]
    Animals,
    /// Logs of a harbour, with other words and sentences than the tales.
    Harbour,
}

impl Style {
    pub const ALL: [Self; 2] = [Self::Animals, Self::Harbour];

    pub fn grammar(self) -> Grammar {
        let (topics, rules) = match self {
            Self::Animals => (ANIMALS, TALES),
            Self::Harbour => (SHIPS, LOGS),
        };
        Grammar::parse(topics, rules).expect("the tests parse it")
    }

    /// Returns the rules with the words of a language: language 0 has the words of the grammar, other languages have invented
    /// words.
    pub fn in_language(self, seed: u64, language: u32) -> Grammar {
        let own = self.grammar();
        if language == 0 {
            return own;
        }
        let words = words::invented(&own.lexicon(), seed, language);
        own.with_words(&words)
    }
}

/// Animals of the tales. The animal recurs in later sentences of its tale, so a model can learn it only from the context.
const ANIMALS: &[&str] =
    &["fox", "hare", "bear", "wolf", "crow", "frog", "mouse", "horse", "duck", "goat", "lamb", "hen"];

/// Rules of the tales. Nouns and verbs agree in number; adjectives begin with a consonant, so that the article is `a`.
const TALES: &str = "
    tale-@: 3 once a {adjective} @ lived {place}.{more-@} | 2 there was a {adjective} @ {place}.{more-@}
    more-@: 4  {sentence-@}.{more-@} | 1 ¶
    sentence-@: 4 the @ {does} | 3 it {does} | 2 then the @ {does} | 2 {many} {friends} {do} near the @ | 1 {place} the @ {does}
    does: 3 {moves} | 2 {moves} {place} | 4 {acts} the {thing} | 2 {acts} a {adjective} {thing} | 1 {moves} and {moves}
    do: 2 {move} | 1 {move} and {move} | 2 {act} the {thing}
    many: 3 two | 2 three | 2 many | 1 some
    adjective ~ small | red | happy | brown | quiet | brave | green | hungry | tired | clever | white | lonely
    place ~ in the forest | by the river | on the hill | in the garden | under the bridge | at the farm | near the lake | behind the barn
    thing ~ tree | stone | apple | house | flower | boat | bread | basket | lantern | window | feather | honey
    friends ~ dogs | birds | children | cats | sheep | farmers
    moves ~ runs | sleeps | sings | waits | dances | swims | jumps | listens
    move ~ run | sleep | sing | wait | dance | swim | jump | listen
    acts ~ sees | finds | likes | wants | carries | watches | hides | paints
    act ~ see | find | like | want | carry | watch | hide | paint
";

const SHIPS: &[&str] = &["swallow", "comet", "dolphin", "victory", "pearl", "tempest", "falcon", "aurora"];

const LOGS: &str = "
    tale-@: {hour} {minute}: the @ {arrives} {origin} {load}{rest-@}
    rest-@: 3 ; {event-@}{rest-@} | 2 ; all is well.¶
    event-@: 3 her {officer} {orders} the crew to {task} | 2 the @ {takes} {number} {goods} on board | 2 {weather} {lasts} {span} | 1 the {officer} of the @ {orders} the pilot to {task}
    hour ~ morning | noon | evening | midnight | dawn
    minute ~ first bell | second bell | third bell | fourth bell
    arrives ~ arrives from | departs for | returns from | is due from
    origin ~ lisbon | bergen | dublin | genoa | tunis | riga | cadiz | smyrna
    load: 2 in ballast | 5 with {number} {goods}
    number ~ twenty | forty | sixty | ninety | eleven | thirty
    goods ~ barrels of salt | crates of tea | bales of wool | sacks of grain | casks of wine | chests of silver | bundles of hemp
    officer ~ captain | mate | boatswain | steward
    orders ~ tells | asks | commands | begs
    task ~ lower the sails | drop the anchor | clear the deck | mend the nets | light the lamps | count the cargo | man the pumps
    takes ~ takes | loads | hauls
    weather ~ fog | rain | a gale | calm sea | snow
    lasts ~ lasts | holds | continues
    span ~ all day | for hours | until night | since dawn
";
