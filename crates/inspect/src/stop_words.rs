//! Words that say nothing about a subject, in the languages with the most text. Other languages rely on
//! keyness alone, which a word that stands everywhere never has.

use std::collections::HashSet;

/// The stop words of a corpus: English and markup always, other languages if the corpus is written in them,
/// because "car" is a stop word in French only.
pub(crate) struct StopWords(HashSet<&'static str>);

/// A list counts if this share of all words is in it. Function words are 40 % of a text in their language, and
/// below 10 % in others.
const WRITTEN_IN: f64 = 0.15;

impl StopWords {
    /// Chooses the lists for a corpus with these stems, each met so many times.
    pub(crate) fn of<'a>(stems: impl Iterator<Item = (&'a str, u32)> + Clone) -> Self {
        let total: f64 = stems.clone().map(|(_, count)| f64::from(count)).sum();
        let mut all = HashSet::new();
        for (number, list) in LISTS.iter().enumerate() {
            let list: HashSet<&'static str> = list.split_whitespace().collect();
            let met: f64 = stems
                .clone()
                .filter(|(stem, _)| list.contains(stem))
                .map(|(_, count)| f64::from(count))
                .sum();
            if number < ALWAYS || met > WRITTEN_IN * total {
                all.extend(list);
            }
        }
        Self(all)
    }

    /// Whether a stem stands for nothing on its own.
    pub(crate) fn contains(&self, stem: &str) -> bool {
        self.0.contains(stem)
    }
}

/// Whether a stop word can stand inside a phrase: "loss of income" is a subject, "Medicare will cover" is not.
pub(crate) fn links(stem: &str) -> bool {
    LINKS.contains(&stem)
}

/// Words between two nouns, in the languages of the lists.
const LINKS: [&str; 43] = [
    "of", "for", "to", "in", "on", "and", "with", "the", "at", "from", "by", "de", "du", "des", "la", "le",
    "les", "et", "à", "pour", "en", "del", "al", "y", "el", "para", "di", "da", "della", "per", "e", "do",
    "dos", "von", "und", "der", "zu", "für", "van", "voor", "het", "op", "im",
];

/// How many of the lists count in any language.
const ALWAYS: usize = 2;

/// English, the leavings of markup, German, French, Spanish, Italian, Portuguese, Dutch. Words as
/// [`crate::words::stem`] leaves them, so that both "his" and "hi" stand here.
const LISTS: [&str; 8] = [
 "a about above across actually after again against ago ain all almost alone along already also although
 always am among an and another answer any anybody anyone anything anyway apart are aren arent around as ask asked asking at
 away back basically be became because become been before began behind being below best better between both but by
 call came can cannot cant case certain certainly clear come could couldn couldnt currently definitely depend depending did didn didnt different
 do doe does doesn doesnt doing don done dont down due during each easily either else end enough especially etc even ever every everybody everyone everything
 exactly example except fact far feel few find first following for form found from further gave general generally get getting
 give given go going gone good got great ha had hadn happen hard has hasn hasnt have haven havent having he hello help her here
 hers herself hi him himself his how however hope http https i id idea if ill im important in include included including indeed instead into is isn isnt it its
 itself ive just keep kind knew know known last late later least left less let lets like likely little ll look looking lot made main
 mainly make making many matter may maybe me mean might mine more most mostly much must my myself near necessary need needed
 neither never new next no nobody none nor normally not nothing now of off often ok okay on once one only onto or
 order other others otherwise ought our ours ourselves out over own part particular particularly people per perhaps person place please point
 possible possibly pretty probably provide provided providing put question quite rather re really reason recent regard regarding related right said same saw say saying see seem
 seen several shall she should shouldn shouldnt show simple simply since so some somebody someone something sometime sometimes somewhere
 soon specific specifically still such sure take taken taking tell than thank thanks that thats the their theirs them themselves then there
 therefore theres these they theyre thi thing think this those though thought three through thru thu thus till time to today together
 too took toward tried true truly try trying turn two type typically u under unless until up upon us use used useful using usually various
 ve very via wa want wanted was wasn wasnt way we well went were weren werent weve what whatever whats when where whether which
 while who whom whose why wi will wish with within without won wont word would wouldn wouldnt yes yet you youll your
 youre yours yourself youve able according accordingly add allow allowed another apply available aware consider contact discuss ensure entire 
 four five generally ha hav however issue left meant multiple offered offering one ones option
 ourselve themselve yourselve yourselve otherwise overall past quick quickly receive recommend require required requirement result
 set situation speak start step stop suggest talk understand usual whichever ",
    "amp br class com div gt href html http https jpg lt nbsp net org php pdf png quot script span src td tr url www",
    "aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da dabei damit dann das dass
    daß dein deine dem den denn der des deshalb die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer
    eines er es etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im
    in ist ja jede jedem jeden jeder jedes kann kein keine keinem keinen keiner können könnte man mehr mein meine mich mir mit muss
    müssen nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so solche sollte sondern
    sonst über um und uns unser unsere unter viel vom von vor war waren warum was weil welche welcher wenn wer werden wie wieder
    will wir wird wo wurde wurden würde zu zum zur zwar zwischen",
    "à afin ai ainsi alors après as au aucun aussi autre autres aux avait avant avec avez avoir avons c ça car ce ceci cela celle celui ces cet cette ceux
    chaque chez ci comme comment d dans de depuis des deux donc dont du elle elles en encore entre es est et été être eu eux faire fait
    faut font il ils j je jusqu l la le les leur leurs lors lui m ma mais me même mes moi moins mon n ne ni nos notre nous on ont ou où par
    parce pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si sien son sont sous sur t ta te tes
    toi ton tous tout toute toutes très tu un une vers vos votre vous y",
    "al algo alguna algunas alguno algunos ante antes aquel aunque así cada como cómo con contra cual cuál cuando cuándo de del desde donde dónde dos
    durante el él ella ellas ellos en entonces entre era eran eres es esa esas ese eso esos esta está están estar estas este esto estos fue fueron ha
    había han hasta hay la las le les lo los más me mi mis mientras muy nada ni no nos nosotros nuestra nuestro o otra otras otro otros para
    pero poco por porque pues que qué quien quién se sea según ser si sí sido sin sino sobre son su sus también tan tanto te tener tiene tienen todo
    toda todos todas tu tus un una unas uno unos usted y ya yo",
    "agli ai al alla alle allo anche ancora avere aveva che chi ci come con contro cui da dagli dai dal dalla dalle dei del della delle dello di dopo
    dove e è ed era erano essere fra gli ha hanno ho i il in io la le lei li lo loro lui ma mi mio molto ne nei nel nella nelle no noi non nostro o ogni
    oppure per perché più poi prima quale quando quanto quella quelle quelli quello questa queste questi questo qui se sei senza si sia sono sta
    su sua sue sugli sul sulla sulle suo suoi tra tu tutti tutto un una uno vi voi",
    "à ao aos as até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era essa esse esta está estão este eu foi foram há isso isto já
    lhe mais mas me mesmo meu minha muito na não nas nem no nos nós o os ou para pela pelas pelo pelos por porque quando que quem se sem ser seu seus só
    sua suas também te tem têm ter tu um uma você vocês",
    "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen geweest haar had heb hebben heeft hem het hier
    hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op
    over reeds te tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden wordt zal ze zelf zich zij zijn zo zonder zou",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar_stops_and_subjects_do_not() {
        let english = StopWords::of([("the", 10), ("car", 1), ("of", 9)].into_iter());
        for (word, stops) in
            [("the", true), ("nbsp", true), ("dont", true), ("car", false), ("annuity", false)]
        {
            assert_eq!(english.contains(word), stops, "{word}");
        }
        let french = StopWords::of([("la", 10), ("voiture", 5), ("de", 5), ("car", 1)].into_iter());
        assert!(french.contains("car") && !french.contains("voiture"));
    }
}
