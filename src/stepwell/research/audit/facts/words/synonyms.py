"""Everyday words that mean the same in most sentences: a claim may use one where its source uses the other.

The groups contain only words that hardly ever differ in what they say about a fact. Opposites have their own lists (`directions`), in
which each side also consists of words of one meaning.
"""

from __future__ import annotations

from functools import lru_cache

from stepwell.research.audit.facts.words.directions import directions
from stepwell.research.audit.facts.words.roots import root

_GROUPS = (
    "begin start commence launch|end finish conclude stop cease|buy purchase acquire|build construct erect|"
    "make produce create manufacture|show demonstrate reveal indicate display|find discover detect identify|"
    "get receive obtain earn|give provide supply offer|help assist aid|need require necessary|use employ utilise|"
    "happen occur|die death decease pass-away|kill murder slay|marry wed|move relocate|leave depart exit|arrive reach|"
    "see view watch observe|say state declare announce|think believe consider|ask request|answer reply respond|"
    "choose select pick|change alter modify|keep retain maintain|own possess|include contain comprise consist|"
    "teach instruct educate|protect defend guard shield|destroy demolish ruin|damage harm injure hurt|attack assault|"
    "fight battle combat|war conflict|film movie|car automobile|child kid|doctor physician|house home residence|"
    "job post position|firm company business corporation|nation country|road street|sea ocean|illness disease disorder|"
    "medicine drug medication|cancer tumour carcinoma|area region territory zone|part portion section component|"
    "aim goal objective purpose|method technique approach procedure|result outcome effect consequence|cause induce trigger|"
    "link associate correlate relate connect|important significant crucial essential vital key|big large huge|"
    "small little tiny|fast quick rapid|elderly aged older|famous well-known renowned noted|whole entire complete|"
    "main primary principal chief|right correct|several numerous multiple various|near close adjacent|soldier troops|"
    "worker employee staff|customer client|student pupil|singer vocalist|author writer|actor performer|television tv|"
    "photo photograph|song track|price cost|law legislation statute|court tribunal|prison jail|fire blaze|ship boat vessel|"
    "plane aircraft airplane|speech address|prize award|contest competition tournament|match game|test trial experiment|"
    "person people individual human|woman female lady|man male|reach attain achieve|grow develop|join enter|"
    "settle reside live inhabit dwell|call name title|known called named|locate situate|hit strike|hold contain|"
    "carry transport|gather collect|join unite merge|divide split separate|explain clarify|describe portray depict|"
    "appear seem|attempt try|permit allow|forbid ban prohibit|refuse decline reject|accept approve|demand claim|"
    "order command|vote ballot|elect vote|appoint name|resign quit|dismiss fire sack|hire employ recruit|"
    "release publish issue|premiere debut|broadcast air|perform play|feature star|base found|establish found set-up create|"
    "open inaugurate|shut close|repair mend fix restore|measure span|weigh weight|cover extend|last endure|wound injure|"
    "turn rotate spin revolve|promote enhance stimulate boost|inhibit suppress|hinder impair|regulate control govern|"
    "require need necessary essential|treat therapy|influence affect impact|participate involve contribute|"
    "severity intensity|deficiency deficit lack shortage|arise emerge|fatal deadly lethal|brief short|annual yearly|"
    "frequent common|assess evaluate|examine investigate|predict forecast|prevent avoid|spread disseminate|"
    "transmit transfer|attach bind|speed velocity|dangerous hazardous|risk danger hazard|"
    "chance likelihood probability odds|likely probable|rich wealthy|money finance|monarch sovereign|army troops|"
    "border frontier|coast shore|beverage drink|fabric cloth textile|stone rock|waste rubbish garbage trash|"
    "newspaper paper|magazine journal periodical|story tale|image picture|sculpture statue|holy sacred|grave tomb|"
    "burial funeral|wedding marriage|vacation holiday|trip journey voyage|shop store|goods merchandise|trade commerce|"
    "profit earnings|lawyer attorney|imprison jail|punish penalise|accident crash collision|explode detonate|rescue save|"
    "search seek|hide conceal|throw hurl|afraid scared fearful|intelligent clever|unusual strange odd|"
    "usual normal ordinary|vacant empty|enormous huge vast|additional extra further|enough sufficient|"
    "whole complete entire|precise exact accurate|mistake error|answer solution|problem difficulty|task duty|"
    "skill ability capability|capable able|wish desire|hope expect|conflict dispute|agreement accord deal treaty|"
    "alliance coalition|revolt rebellion uprising|famine starvation|citizen national|foreigner alien|immigrant migrant|"
    "inhabitant resident|village settlement|valley vale|peak summit top|river stream|wood timber|engine motor|"
    "device apparatus instrument|weapon arms|flat apartment|lift elevator|lorry truck|petrol gasoline|autumn fall|film movie picture|"
    "boss manager head|coach trainer manager|footballer player|striker forward|defeat beat|win earn gain secure claim|trophy cup title|"
    "kid child youngster|teenager youth adolescent|baby infant newborn|mum mother mom|dad father|wife spouse|husband spouse|"
    "cop police officer|robber thief burglar|suspect accused defendant|verdict ruling judgment judgement|"
    "jail imprison detain incarcerate|"
    "arrest detain|injure wound hurt|casualty victim|shooting gunfire|bomb explosive|blast explosion|flood inundation|quake earthquake|"
    "storm gale hurricane|snow snowfall|rain rainfall|forecast prediction|drought dryness|pollution contamination|"
    "university college|lecturer professor academic|pupil schoolchild|exam test examination|degree qualification|"
    "salary wage pay earnings income|tax levy duty|fee charge|loan credit|debt liability|invest investment|share stock|"
    "revenue turnover sales|budget spending expenditure|cut reduce reduction|boost increase rise|cost price expense|cheap inexpensive|"
    "minister secretary|parliament assembly legislature|mp lawmaker legislator|council authority|poll election vote|"
    "treaty pact accord|ceasefire truce|troop force soldier|rebel insurgent militant|refugee migrant|border frontier|capital city|"
    "town municipality|district neighbourhood neighborhood borough|hill mountain|wood forest|field meadow|farm ranch|crop harvest|"
    "cattle cow livestock|pig swine|hen chicken|bug insect|illness sickness ailment|infect infection|"
    "jab vaccine vaccination immunisation|"
    "surgeon doctor|hospital clinic|tumour tumor neoplasm|heart cardiac myocardial|kidney renal|liver hepatic|lung pulmonary|"
    "brain cerebral|skin dermal cutaneous|bone skeletal osseous|blood haematological hematological|stomach gastric|bowel intestine gut|"
    "fat adipose lipid|muscle muscular|nerve neuronal neural neuron|cell cellular|death mortality|illness morbidity|"
    "occurrence incidence prevalence rate frequency|"
    "amount quantity level concentration|mutation variant|inhibitor antagonist blocker|agonist activator|rodent mouse rat|"
    "newborn neonatal neonate|elderly geriatric|pregnancy pregnant gestation|obesity obese overweight|hypertension blood-pressure|"
    "gather assemble meet|talk speak speech|tell inform|warn caution|complain protest|argue dispute quarrel|"
    "blame accuse|admit confess acknowledge|"
    "deny reject refute|agree consent|insist maintain|urge call appeal|order instruct direct|promise pledge vow|threaten menace|"
    "hire appoint|sack fire dismiss|quit resign|retire|replace substitute succeed|sign contract|"
    "extend prolong lengthen|postpone delay defer|"
    "cancel scrap abandon|halt stop suspend|resume restart|continue proceed|return come-back|climb ascend|descend|travel journey|"
    "drive ride|crash collide|sink founder|burn blaze|collapse cave-in|rebuild reconstruct restore|renovate refurbish|"
    "expand enlarge extend|"
    "shrink contract|store keep|remove withdraw|add append|mix blend combine|join connect link|cut sever|break fracture shatter|"
    "tear rip|clean wash|paint|draw sketch|write author pen compose|direct|produce|edit|record tape|film shoot shot|sing perform|dance|"
    "adapt adaptation version|sequel follow-up|remake version|novel book|poem verse|painting picture|photographer|"
    "exhibit exhibition display|"
    "museum gallery|theatre theater playhouse|cinema|stage|audience spectator viewer|fan supporter|critic reviewer|"
    "review|popular well-liked|"
    "success hit|failure flop|famous celebrated prominent|notorious infamous|unknown obscure|rare scarce uncommon|"
    "typical characteristic|"
    "strange unusual|similar alike comparable|different distinct|same identical|equal|whole total full|partial incomplete|"
    "quick swift|slow sluggish|strong powerful|weak feeble|heavy weighty|wealthy affluent|poor impoverished|clean pure|dirty polluted|"
    "early initial|late final|ancient old|modern contemporary|current present|former previous ex|next following subsequent|"
    "yearly annual|monthly|weekly|daily everyday|midday noon|evening night|morning dawn|decade ten-year|century|"
    "below under beneath underneath underground|above over|beside next|inside within|outside beyond|opposite across|"
    "invest spend|shorten reduce|twin pair|couple pair two|dozen twelve|score twenty|many numerous|"
    "few handful|enough adequate|additional further more extra|"
    "citizen national|native indigenous|foreign overseas|global worldwide international|local regional|nearby neighbouring close|"
    "remarkable notable|terrible awful|excellent superb outstanding|beautiful attractive|danger peril|secret hidden|"
    "sad unhappy|happy glad|angry furious|afraid frightened|tired exhausted|ill sick unwell|healthy well|alive living|"
    "dead deceased late"
)
_OF: dict[str, frozenset[int]] = {}
for _number, _group in enumerate(_GROUPS.split("|")):
    for _word in _group.split():
        _OF[root(_word)] = _OF.get(root(_word), frozenset()) | {_number}


@lru_cache(maxsize=20_000)
def meanings(word: str) -> frozenset[str]:
    """The root of a word, and a mark for each group and each side of a pair of opposites that it belongs to."""
    own = root(word)
    groups = {f"={number}" for number in _OF.get(own, ())}
    return frozenset({own, *groups, *(f"{each.pair}:{each.sign}" for each in directions(word) if each.strict)})
