"""Texts in languages that the model lacks get no name. The samples are the first article of the
Universal Declaration of Human Rights."""

from __future__ import annotations

import pytest

from crawl.parsing.language import Identifier, unknown_languages
from crawl.parsing.language_evidence import is_in_language

_NOT_IN_THE_MODEL = {
    "fur": "Ducj i oms a nassin libars e compagns come dignitât e derits. A àn sintiment e"
    " cussience e bisugne che si tratin un culaltri come fradis.",
    "gv": "Ta dagh ooilley pheiagh ruggit seyr as corrym ayns ard-cheim as kiartyn. Ren Jee"
    " feoiltaghey resoon as cooinsheanse orroo as by chair daue ymmyrkey ry cheilley myr"
    " braaraghyn.",
    "ia": "Tote le esseres human nasce libere e equal in dignitate e in derectos. Illes es dotate"
    " de ration e de conscientia e debe ager le unes verso le alteres in un spirito de"
    " fraternitate.",
    "nds": "All de Minschen sünd frie un gliek in Wüürd un Rechten baren. Se hebbt Vernunft un"
    " Geweten, un se schöllt sik as Bröder begegen.",
    "sc": "Totu sos èsseres umanos naschint lìberos e eguales in dinnidade e in deretos. Issos"
    " tenent sa resone e sa cussèntzia e depent operare s'unu cun s'àteru cun ispìritu de"
    " fraternidade.",
    "ts": "Vanhu hinkwavo va tswariwa va ri na ntshuxeko naswona va ringana hi xindzhuti na"
    " timfanelo. Va na ku anakanya na ku hluta, kutani va fanele ku tirhisana hi moya wa"
    " vumakwerhu.",
    "wo": "Doomi aadama yépp danuy juddu, yam ci tawfeex ci sag ak sañ-sañ. Nekk na it ku xam dëgg"
    " te ànd na ak xelam, te war naa jëflante ak nawleen, te teg ko ci wàllu mbokk.",
    "yi": "יעדער מענטש ווערט געבוירן פריי און גלייך אין כבוד און רעכט. יעדער ווערט באשאנקן מיט"
    " פארשטאנד און געוויסן; יעדער זאל זיך פירן מיט א צווייטן אין א געמיט פון ברודערשאפט.",
    "bo": "འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང༌། ཐོབ་ཐངགི་རང་དབང་འདྲ་མཉམ་དུ་ཡོད་ལ།"
    " ཁོང་ཚོར་རང་བྱུང་གི་བློ་རྩལ་དང་བསམ་ཚུལ་བཟང་པོ་འདོན་པའི་འོས་བབས་ཀྱང་ཡོད།",
    "mai": "सभ मानव जन्मतः स्वतन्त्र अछि तथा गरिमा आ अधिकारमे समान अछि। सभकेँ अपन–अपन बुद्धि आ विवेक"
    " छैक आओर सभकेँ एक दोसराक प्रति सौहार्दपूर्ण व्यवहार करबाक चाही।",
}
_IN_THE_MODEL = {
    "en": "All human beings are born free and equal in dignity and rights. They are endowed with"
    " reason and conscience and should act towards one another in a spirit of brotherhood.",
    "de": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft"
    " und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "nl": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd"
    " met verstand en geweten, en behoren zich jegens elkander in een geest van broederschap te"
    " gedragen.",
    "it": "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati"
    " di ragione e di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza.",
    "es": "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como"
    " están de razón y conciencia, deben comportarse fraternalmente los unos con los otros.",
    "he": "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך"
    " חובה עליהם לנהוג איש ברעהו ברוח של אחווה.",
    "hi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें"
    " बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
    "ne": "सबै व्यक्तिहरू जन्मजात स्वतन्त्र हुन् ती सबैको समान अधिकार र महत्व छ। निजहरूमा विचार शक्ति र"
    " सद्विचार भएकोले निजहरूले आपसमा भ्रातृत्वको भावनाबाट व्यवहार गर्नु पर्छ।",
    "bn": "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি"
    " আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিৎ।",
}


@pytest.mark.parametrize("language", _NOT_IN_THE_MODEL)
def test_a_language_that_the_model_lacks_has_no_name(language: str) -> None:
    assert unknown_languages([language]) == [language]
    assert Identifier().identify(_NOT_IN_THE_MODEL[language]) == ""
    assert Identifier().identify_page("", _NOT_IN_THE_MODEL[language] * 20, 256) == ""


@pytest.mark.parametrize("language", _IN_THE_MODEL)
def test_a_language_that_the_model_has_keeps_its_name(language: str) -> None:
    assert Identifier().identify(_IN_THE_MODEL[language]) == language
    assert Identifier().identify_page("", _IN_THE_MODEL[language] * 20, 256) == language


def test_one_of_several_names_of_a_language_stands_for_all() -> None:
    sorani = (
        "ھەموو مرۆڤەکان بە ئازادی و بە کەرامەت و ماف یەکسانەوە لە دایک دەبن. ئەوان ئەقڵ و ویژدانیان"
        " پێدراوە و دەبێ لەگەڵ یەکتریدا بە گیانی برایەتی ھەڵسوکەوت بکەن."
    )
    assert Identifier().identify(sorani) == "ku"


def test_sentences_are_looked_for_where_tables_do_not_tell() -> None:
    table = "\n".join(f"int4_{n}_ops\n{n}\n<<(box,point)\n&&(inet{n},inet{n})" for n in range(200))
    sentences = _IN_THE_MODEL["en"] + "\n" + " ".join(_IN_THE_MODEL["en"].split()[::-1]) + "\n"
    identifier = Identifier()
    page = f"{table}\n{sentences * 4}{table}{table}"
    assert identifier.identify_page("brin.opclasses", page, 256) == "en"
    assert identifier.identify_page("brin.opclasses", table, 256) == ""


def test_one_common_word_does_not_make_a_long_text_hindi() -> None:
    assert is_in_language("यह है", "hi", 0.0)
    assert not is_in_language("अछि " * 100 + " है", "hi", 0.0)
    assert not is_in_language("the", "de", -1.0)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("ja", "次のコマンドで設定ファイルを書き換えてください。"),
        ("ko", "다음 명령으로 설정 파일을 고쳐 써야 합니다."),
    ],
)
def test_a_script_of_its_own_tells_the_language_of_a_text_full_of_code(
    code: str, sentence: str
) -> None:
    program = "$ sed -i 's/^x11=$/x11=yes/' /etc/xqz/zzqx.conf; qrtctl --vfy 0x7f\n"
    page = f"{sentence}\n{program}" * 10
    assert is_in_language(page, code, -3.0)
    assert not is_in_language(f"{sentence}\n{program * 10}" * 10, code, -3.0)
    assert not is_in_language(page, "lo", -3.0)
