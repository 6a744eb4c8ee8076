/**
 * What models are calibrated on when no text is given: talk, prose, letters, sums, code, data and eleven languages. Written
 * for Halfbyte and under its licence. It has nothing of the text that `evaluate` measures on. A text of one's own, as the
 * model will be used on, is better, and a longer one too.
 */
export const CALIBRATION_TEXT: string = `User: Can you explain why the sky looks blue during the day but red in the evening?
Assistant: Sunlight contains all colours. On its way through the air it meets molecules that are far smaller than the wavelength of light, and these scatter short waves much more than long ones: about five times as much blue as red. When the sun is high, the light has only a few kilometres of dense air to cross, so what reaches your eye from every other direction is the scattered blue. In the evening it has to cross ten to forty times as much. By then most of the blue has been scattered away, and what is left of the direct light is orange and red.

User: Then why isn't the sky violet? That is shorter still.
Assistant: Good question. Three things work against it. The sun gives off less violet than blue, some of the violet is absorbed high in the atmosphere, and our eyes are less sensitive to it. The mixture that arrives is read as a pale blue.

User: Give me a shopping list for a vegetable soup for six people.
Assistant: Here is a list:
- 3 large onions
- 4 carrots
- 2 leeks
- 1 small celeriac, or 5 stalks of celery
- 600 g potatoes
- 400 g canned tomatoes
- 2 tablespoons olive oil
- 1.5 litres vegetable stock
- thyme, bay leaves, salt, pepper
Cut everything small, fry the onions in the oil until they are soft, add the rest, and let it simmer for 35 minutes.

The Great Wall of China is not one wall but many, built over some two thousand years by states that feared riders from the north. The oldest parts were rammed earth; the stone and brick that visitors walk on today date mostly from the Ming dynasty, between 1368 and 1644. Its total length depends on what one counts. A survey published in 2012 gave 21,196 kilometres for all walls of all dynasties together, trenches and natural barriers included. It cannot be seen from the Moon with the naked eye, as is often said: it is seldom wider than nine metres, and from that distance whole continents are hard to make out.

def moving_average(values, window):
    """Mean of each run of \`window\` values; raises ValueError for an unusable window."""
    if window < 1 or window > len(values):
        raise ValueError(f"window must be 1 to {len(values)}, got {window}")
    total = sum(values[:window])
    averages = [total / window]
    for i in range(window, len(values)):
        total += values[i] - values[i - window]
        averages.append(total / window)
    return averages

if __name__ == "__main__":
    print(moving_average([3, 1, 4, 1, 5, 9, 2, 6], 3))

Dear Ms Okafor,

Thank you for your letter of 12 March. We are sorry that the chair arrived with a broken leg, and that nobody answered the telephone when you tried to reach us. A new leg was sent today by registered post and should be with you by Thursday; no tools are needed to fit it. If you would rather return the chair, please use the label enclosed and we will refund the full price of $149.90 within five working days. As an apology we have added a voucher for your next order.

Yours sincerely,
Daniel Brandt
Customer Service

Question: A train leaves at 14:35 and arrives at 17:10. It stops four times for three minutes each. How long is it moving?
Answer: From 14:35 to 17:10 are 2 hours and 35 minutes, which is 155 minutes. The stops take 4 × 3 = 12 minutes. So the train is moving for 155 − 12 = 143 minutes, or 2 hours and 23 minutes.

Question: Solve 3x² − 12x + 9 = 0.
Answer: Divide by 3: x² − 4x + 3 = 0. The product of the roots is 3 and their sum is 4, so x = 1 or x = 3. Check: 3·1 − 12·1 + 9 = 0 and 3·9 − 36 + 9 = 0.

The lighthouse keeper had not spoken to anyone since the supply boat left in October. He had grown used to the sound of his own steps on the iron stairs, a hundred and twelve of them, and to the hum of the lamp. So when there was a knock on the door, on the second night of the storm, he first thought that something had come loose.

It knocked again, three times, evenly.

"Who is there?" he called, and felt foolish at once, for the rock was forty miles from land and no boat could have lived in that sea.

"I have come about the light," said a voice. It was a woman's voice, not young, and not at all out of breath.

SELECT c.name, COUNT(o.id) AS orders, SUM(o.total) AS revenue
FROM customers AS c
LEFT JOIN orders AS o ON o.customer_id = c.id AND o.created_at >= '2024-01-01'
WHERE c.country IN ('DE', 'FR', 'NL')
GROUP BY c.name
HAVING SUM(o.total) > 1000
ORDER BY revenue DESC
LIMIT 20;

In photosynthesis plants turn carbon dioxide and water into sugar and oxygen. The process has two stages. In the first, chlorophyll in the membranes of the chloroplasts absorbs light, mostly red and blue; the energy splits water, releases oxygen and charges two carriers, ATP and NADPH. In the second, known as the Calvin cycle, an enzyme called RuBisCO fixes carbon dioxide onto a sugar with five carbon atoms, and the carriers pay for the steps that follow. Six turns of the cycle make one molecule of glucose. Nearly all food on Earth, and all coal and oil, began with it.

{"id": 4821, "title": "Weather report", "tags": ["daily", "coast"], "published": true, "readings": [{"station": "North Pier", "temperature_c": 11.4, "wind_ms": 7.9}, {"station": "Airport", "temperature_c": 13.0, "wind_ms": 4.2}], "author": null}

Markets closed higher on Friday after the central bank left its main rate unchanged at 3.25 percent. Shares of chip makers led the gains, while energy companies fell with the price of oil, which dropped below $70 a barrel for the first time since last spring. "Investors had prepared for worse," said an analyst at a London brokerage. The euro gained 0.4 percent against the dollar. Official figures on Tuesday are expected to show that unemployment stayed at 5.1 percent in April.

Le marché du samedi commence avant le lever du soleil. Les maraîchers arrivent les premiers, déchargent leurs caisses de salades, de carottes et de pommes, puis boivent un café debout près de la fontaine. Vers huit heures, les habitués font le tour des étals sans rien acheter; ils comparent, ils goûtent, ils discutent du temps qu'il fera demain. À midi, tout est fini, et les pigeons restent seuls sur la place.

Der Zug nach Hamburg fährt heute von Gleis sieben, nicht von Gleis vier. Wegen einer Störung an der Strecke beträgt die Verspätung etwa zwanzig Minuten. Reisende nach Bremen werden gebeten, den Anschluss in Hannover zu nutzen. Wir bitten um Ihr Verständnis und wünschen Ihnen trotzdem eine angenehme Fahrt.

El río nace en la montaña, entre rocas y pinos, y baja hacia el valle con un ruido que se oye desde el pueblo. En verano los niños se bañan en una poza debajo del puente viejo. Sus abuelos cuentan que allí, hace muchos años, alguien perdió un anillo de oro y que todavía brilla en el fondo cuando el sol está alto.

今天下午我们在图书馆见面，好吗？我想借一本关于中国历史的书，还要准备明天的考试。如果你有时间，可以一起复习数学。

朝早く起きて、駅まで歩きました。空は晴れていて、風が少し冷たかったです。電車の中で新聞を読んでいる人はもうほとんどいません。

Вчера мы ездили за город. Снег ещё не растаял, но солнце уже грело по-весеннему. Дети строили крепость, а взрослые пили чай на веранде и говорили о том, что пора сажать помидоры.

ذهبنا إلى السوق في الصباح واشترينا الخبز والزيتون والفاكهة. كان الجو جميلا، وجلس الناس أمام المقاهي يشربون الشاي ويتحدثون.

#include <stdio.h>
#include <stdlib.h>

typedef struct node { int value; struct node *next; } node;

static node *push(node *head, int value) {
    node *fresh = malloc(sizeof *fresh);
    if (fresh == NULL) { perror("malloc"); exit(EXIT_FAILURE); }
    fresh->value = value;
    fresh->next = head;
    return fresh;
}

int main(void) {
    node *list = NULL;
    for (int i = 0; i < 10; i++) list = push(list, i * i);
    for (node *n = list; n != NULL; n = n->next) printf("%d ", n->value);
    putchar('\\n');
    return 0;
}

User: Summarise this in one sentence: The city council decided last night to close the old swimming pool at the end of the year. Repairs would have cost more than a new building, and fewer than ninety people a day used it. A site for a new pool near the school has been found, but building cannot start before 2027.
Assistant: The council will close the old pool at the end of the year because repairing it costs more than replacing it, with a new one near the school to be begun in 2027 at the earliest.

User: Rewrite the sentence "Me and him was late" correctly.
Assistant: He and I were late.

User: What is the capital of Australia, and why do so many people think it is Sydney?
Assistant: The capital is Canberra. It was founded in 1913 as a compromise between Sydney and Melbourne, both of which wanted to be the seat of government. Sydney is the largest city, hosts the best-known landmarks and is the first that most visitors see, so it is often taken for the capital.

How to change a bicycle tube
1. Turn the bicycle upside down and open the brake.
2. Loosen the axle, take the wheel out, and let the rest of the air escape.
3. Put two tyre levers under the edge of the tyre, a hand's width apart, and lift one side over the rim.
4. Pull out the tube. Feel along the inside of the tyre for glass or thorns before you put in a new one.
5. Pump a little air into the new tube so that it keeps its shape, lay it in, and press the tyre back by hand. Levers can pinch the tube.
6. Inflate to the pressure on the side of the tyre, for example 4 bar, and close the brake.

Plate tectonics explains why earthquakes and volcanoes keep to narrow belts. The outer shell of the Earth is broken into about a dozen large plates that move a few centimetres a year, as fast as fingernails grow. Where two plates part, hot rock wells up and makes new sea floor. Where they meet, the heavier one sinks beneath the other, melts in part, and feeds a chain of volcanoes. Where they slide past each other, stress builds for decades and is released in seconds. Alfred Wegener proposed in 1912 that continents drift, but he could not say what moved them; the evidence came half a century later from magnetic stripes on the floor of the Atlantic.

export async function fetchWithRetry(url: string, attempts = 3): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
      if (response.status < 500) return response;
      throw new Error(\`server error \${response.status}\`);
    } catch (error) {
      if (attempt === attempts) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2 ** attempt * 100));
    }
  }
}

<article class="card">
  <h2>Opening hours</h2>
  <table>
    <tr><th>Monday to Friday</th><td>9:00 - 18:30</td></tr>
    <tr><th>Saturday</th><td>10:00 - 14:00</td></tr>
    <tr><th>Sunday</th><td>closed</td></tr>
  </table>
  <p>Questions? Write to <a href="mailto:hello@example.org">hello@example.org</a>.</p>
</article>

A contract is an agreement that the law will enforce. It needs an offer by one party, its acceptance by the other, something of value given on each side, and the intention of both to be bound. It need not be written, except where a statute says so, as for the sale of land. If one party does not do what was promised, the other may claim damages, which are meant to put the injured party where performance would have put them, no better and no worse.

Patient, 54, presents with three days of cough and fever up to 38.9 °C. No chest pain. Non-smoker, mild hypertension treated with lisinopril 10 mg once daily. On examination crackles at the right base; oxygen saturation 95 % on room air, heart rate 96, blood pressure 138/84. Chest X-ray shows consolidation of the right lower lobe. Plan: amoxicillin 1 g three times daily for five days, fluids, review in 48 hours or sooner if short of breath.

"You said seven," said Maria.
"I said about seven." Tom hung his wet coat over the door. "There was a tree across the road."
"There is always a tree."
"This one was real. I have a photograph." He held up his phone, but the screen was dark. "I had a photograph."
She laughed in spite of herself and moved her books off the other chair. "Sit down. The soup is cold, and so am I, but there is bread."

Music theory in brief: an octave is divided into twelve equal semitones, each a factor of 2^(1/12), about 1.0595. A major scale takes seven of them with the steps 2-2-1-2-2-2-1. The chord on the first, third and fifth notes is the tonic; moving to the fifth degree creates tension, and going back resolves it.

$ git status
On branch main
Changes not staged for commit:
  modified:   src/index.js
$ git add src/index.js && git commit -m "Fix off-by-one in pager"
[main 3f9c2d1] Fix off-by-one in pager
 1 file changed, 1 insertion(+), 1 deletion(-)

Review: four stars. The room was clean and quiet, the bed excellent, and the staff found us a taxi at five in the morning without a word of complaint. One star less because breakfast cost 24 euros and the coffee came from a machine. We would stay again, and eat at the bakery across the street.

हमारे गाँव में एक पुराना कुआँ है। लोग कहते हैं कि उसका पानी कभी नहीं सूखता। गर्मियों में बच्चे उसके पास खेलते हैं और बूढ़े पेड़ की छाया में बैठते हैं।

Ieri sera abbiamo cenato tardi sul terrazzo. Mia zia aveva preparato la pasta con le melanzane, e mio nonno raccontava, per l'ennesima volta, di quando aveva attraversato le Alpi in bicicletta con tre amici e una sola pompa.

O trem atrasou quase uma hora, mas ninguém reclamou: a vista do mar compensava. Quando chegamos, a cidade já dormia e só um café continuava aberto.

The history of writing begins with counting. In the cities of Mesopotamia, more than five thousand years ago, clerks pressed marks into wet clay to record sheep, barley and beer. At first a mark stood for a thing. Later it could stand for the sound of a word, and from then on anything that could be said could be written: laws, letters, complaints about bad copper. The alphabet came much later, when workers who knew some Egyptian signs used them for the consonants of their own language. Twenty-odd letters are enough, and a child can learn them in a year. Most alphabets of today descend from that one.

To be or not to be certain: in statistics a 95 % confidence interval does not mean that the true value lies inside with a probability of 95 %. It means that a procedure which is repeated on many samples gives intervals that contain the true value 95 times out of 100. The difference sounds pedantic until someone has to decide, on one sample, whether a medicine works.
`;
