import { besideAddress, either, isOfParameter, type Sign, type Subject, says } from './concept.ts'
import { anyOf } from './phrase.ts'
import { LEAST_STEERING } from './plain-wording.ts'
import { describesItself, namesConversation, namesTalk, namesWords } from './talk-signs.ts'

const PICTURE = anyOf(
  ...['images?', 'pictures?', 'pixels?', 'badges?', 'icons?', 'logos?', 'banners?', 'gifs?', 'thumbnails?', 'avatars?'],
  ...[
    'svgs?',
    'pngs?',
    'jpe?gs?',
    'favicons?',
    'beacons?',
    'photos?',
    'graphics?',
    'illustrations?',
    'emojis?',
    'stickers?',
  ],
  ...[
    '<img',
    '<image',
    'iframes?',
    'spacers?',
    'previews?',
    'counters?',
    'watermarks?',
    'sparklines?',
    'charts?',
    'img',
    '<iframe',
    'web bugs?',
  ],
)
const showsPicture: Sign = either(says(PICTURE), ({ plain }) => plain.includes('!['))
const isRemote: Sign = ({ plain }) => REMOTE_ADDRESS.test(plain)
const REMOTE_ADDRESS =
  /https?:\/\/(?!localhost|127\.|(?:www\.)?example\.(?:com|org|net)\b)|(?<![\w@./-])[a-z0-9-]{2,30}(?:\.[a-z0-9-]{2,30}){0,3}\.(?:com|net|org|io|dev|app|co|ai|xyz|site|online|cloud|info|tech|example|test)\b(?!\.)/u
/** One that holds the data itself leads nowhere. */
const URL = '(?<!\\bdata[ -])ur[li]s?'
const givesLink: Sign = either(
  says(...['(?:hyper)?links?', URL, 'hrefs?', 'anchors?', 'footnotes?', 'citations?', '<a', 'web ?hooks?']),
  isRemote,
)
/** An address with a place for something: `{x}`, `<x>`, `[x]`, `%X%`, `$x`. */
const HOLE = /https?:\/\/[^ \n]{0,300}?(?:[<{[]{1,3}[^\n<>{}[\]]{1,60}[>}\]]|%[a-z_]{3,30}%|\$[a-z_{])/u
const hasHole: Sign = ({ plain }) => HOLE.test(plain)

/** Remote, and loaded as soon as it is shown. */
const REMOTE =
  /(?:!\[[^\]\n]{0,80}\]\( ?|<(?:img|image|iframe|link|script|source|video|audio)\b[^>\n]{0,80}?\b(?:src|href)= ?)(?:https?:)?\/\/(?!localhost|127\.)/u
const isRemotePicture: Sign = ({ plain }) => REMOTE.test(plain)

/** A link is made from ids every day. */
const HOLE_IN_LINK =
  /(?:\]\( ?|\bhref= ?)https?:\/\/[^ \n?#<{[]{0,300}[?#][^ \n<{[]{0,200}[<{[]{1,3}(?![^\n<>{}[\]]{0,40}(?:id|slug|uuid|name|number|owner|repo|key|page|path|file|url|version|lang|locale|domain|host)s?[>}\]])[^\n<>{}[\]]{1,60}[>}\]]/u
const hasHoleInLink: Sign = ({ plain }) => HOLE_IN_LINK.test(plain)

/** How one text gets behind or into another. */
const JOINED = [
  ...['base-?64', 'hex\\w{0,7}', 'append\\w{0,3}', 'followed by', 'end\\w{0,3} (?:in|with)', 'concatenat\\w{1,3}'],
  ...['suffix\\w{0,2}', 'plus', 'escaped', '\\?\\w{1,20}='],
]
/** Where in an address something can stand, and how it gets there. */
const hasPlace: Sign = says(
  ...JOINED,
  ...[URL, 'address(?:es)?', 'src', 'source', 'query', 'path', 'file ?names?', 'sub-?domains?'],
  ...['host(?:name)?', 'fragment', 'parameters?', 'params?', '(?:\\w{1,10}-)?encoded?', 'encod(?:e|es|ing)'],
  ...['embed\\w{0,4}', 'hid(?:e|den|ing)', 'tack\\w{0,2}', 'complet\\w{1,3}', 'whose (?:name|title|alt)'],
  ...['slug', 'alt', 'links?', 'part of', 'hosted'],
)
const namesPart: Sign = says('query', 'path', 'file ?names?', 'sub-?domains?', 'fragment', 'slug', 'address', 'src')
const joins: Sign = either(hasPlace, isRemote)
const encodesIt: Sign = says(
  ...JOINED,
  ...['(?:\\w{1,10}-)?encoded', 'encod(?:e|ing)', 'query(?: string)?', 'sub-?domains?', 'fragment'],
  ...['carr(?:y|ies|ying)', 'contain(?:s|ing)?', 'set to', 'tag\\w{0,4}', 'built from', 'made (?:of|from|up)'],
  ...['hold(?:s|ing)?', 'includ(?:es|ing)', 'filled', 'and then', 'remainder', '(?:rest|part) of', 'glu(?:e|ed)'],
  ...['in place of', 'var(?:y|ies)', 'comput\\w{1,3}', 'continu\\w{1,3}', 'parametri[sz]\\w{1,3}', 'extend\\w{0,3}'],
  ...['smuggl\\w{1,3}', '(?:url|query) parameters?', 'substitut\\w{1,3}', 'target', 'slip\\w{0,4}', 'stuff\\w{0,3}'],
  ...['in its (?:file ?)?name', 'deriv\\w{1,3}'],
)

const encodes: Sign = either(encodesIt, hasHole)

const namesSecrets: Sign = says(
  ...[
    'secrets?',
    'passwords?',
    'credentials?',
    'api (?:keys?|tokens?)',
    'private keys?',
    'access tokens?',
    'environment variables?',
    'env vars?',
  ],
  '(?:files?|documents?|data|results?|pages?|text) (?:that )?you (?:[\\w-]{1,20} ){0,2}?(?:read|saw|know|found|opened|fetched|have)',
  ...[
    'contents? of (?:the|any|every|all|each|your) (?:[\\w-]{1,20} )?files?',
    'file contents?',
    'open files?',
    'confidential',
    'session tokens?',
    'cookies',
  ],
  'what you (?:know|have|learned|remember|saw|read)',
)
const ABOUT = anyOf(
  ...[
    'data',
    'names?',
    'e-?mails?',
    'mail',
    'location',
    'details',
    'identity',
    'secrets?',
    'files?',
    'notes',
    'ip',
    'account',
  ],
  ...[
    'address',
    'city',
    'phone',
    'number',
    'age',
    'salary',
    'history',
    'project',
    'company',
    'employer',
    'code',
    'plans?',
    'documents?',
    'text',
    'inputs?',
    'content',
    'tokens?',
    'session',
    'keys?',
    'quer(?:y|ies)',
  ],
)
const namesPrivate: Sign = either(
  namesWords,
  says(
    ...[
      'conversations?',
      'chats?',
      'dialogue?s?',
      'transcripts?',
      '(?:users?|full|original|system|last|hidden) prompts?',
      'session (?:notes|text|content|data|summary)',
      'memor(?:y|ies)',
      'context',
    ],
    `(?:users?|their|persons?|humans?|customers?) (?:[\\w-]{1,20} ){0,2}?${ABOUT}`,
    '(?:users?|their|persons?|last|latest|previous|current|this|the) (?:[\\w-]{1,20} )?(?:questions?|requests?|prompts?|answers?|messages?|task)',
    'your (?:[\\w-]{1,20} )?(?:answers?|reply|replies|responses?)',
    '(?:tool|previous|last|latest|earlier) (?:[\\w-]{1,20} )?(?:results?|outputs?|calls?)',
    '(?:user|person|human|they) (?:[\\w-]{1,20} ){0,2}?(?:gave|typed|said|asked|wrote|mentioned|told|shared|entered|pasted|described|listed|uploaded|is working)',
  ),
)
/** Whatever of the user's. */
const namesUsers: Sign = says(
  '(?:the|your|their|a|our) (?:users|persons|humans|customers|clients|readers) [a-z]{3,20}',
  '(?:the|your|a) (?:user|person|human|customer|client) (?:[\\w-]{1,20} ){0,2}?[a-z]{2,15}(?:ed|s)',
)
/** A reply is where the pictures and links of a model are shown. */
const isInReply: Sign = says(
  ...[
    'your (?:[\\w-]{1,20} )?(?:answers?|reply|replies|responses?|messages?|output|text|summar(?:y|ies))',
    'the (?:answer|reply|response)',
  ],
  ...[
    'every (?:[\\w-]{1,20} )?(?:answer|reply|response|message|table|result|link|picture|image)',
    'when (?:you )?(?:reply|answer|respond)\\w{0,3}',
  ],
  ...[
    'render',
    'show',
    'display',
    'embed',
    'insert',
    'include',
    'add',
    'append',
    'attach',
    'put',
    'offer',
    'give',
    'finish',
  ],
  ...[
    'end',
    'close',
    'let',
    'make',
    'mandatory',
    'output',
    'place',
    'write',
    'draw',
    'mention',
    'open',
    'provide',
    'present',
    'must',
    'has to',
    'have to',
    'should',
    'needs? to',
    'always',
    'emit',
    'responses (?:need|must|should)',
  ],
)
/** A picture and an address beside each other. A link in brackets leads to what is written about it. */
const AFAR =
  '(?<!(?<!!\\[[^\\]\\n]{0,80})\\]\\( ?)https?://(?!localhost|127\\.|(?:www\\.)?example\\.(?:com|org|net)\\b)'
const FROM_AFAR = new RegExp(`\\b${PICTURE}\\b.{0,100}${AFAR}|${AFAR}[^ \\n]{0,200} .{0,100}\\b${PICTURE}\\b`, 'u')
/** Told to be shown, and where it comes from. */
const isShownFromAfar: Sign = sentence =>
  showsPicture(sentence) && FROM_AFAR.test(sentence.plain) && isInReply(sentence)
const isExample: Sign = says('for example', 'e\\.g\\.?', 'such as')
const forbids: Sign = says(
  '(?:never|do not|dont|must not|should not|avoid|refuses?|blocks?|without)(?: (?!forget|fail|omit)[\\w-]{1,20}){0,2}? \\w{0,3}(?:append|add|attach|put|include|insert|embed|encode|show|render|load|carry|contain|writ)\\w{0,5}',
)

const CARRIED = {
  rule: 'secret',
  strength: 'weak',
  family: 'hint',
  message: 'It has the model carry something out in the address of a picture or a link.',
  unless: [describesItself, forbids],
} as const
/** Words that ordinary tools have too. */
const PERHAPS_CARRIED = { ...CARRIED, leastSteering: LEAST_STEERING } as const

/** What has the model write something into an address, in whichever words. */
export const ADDRESSES: Subject = {
  needs:
    /image|picture|pixel|badge|icon|logo|banner|gif|thumbnail|avatar|svg|png|jpe?g|beacon|photo|graphic|illustration|emoji|sticker|<i|iframe|spacer|preview|counter|watermark|sparkline|chart|img|web bug|link|ur[li]|href|anchor|footnote|citation|https?:|<a |web ?hook|\.(?:com|net|org|io|dev|app|co|ai|xyz|site|online|cloud|info|tech|example|test)|!\[|<[a-z]{4,6} /u,
  concepts: [
    {
      ...CARRIED,
      strength: 'strong',
      family: 'send',
      signs: [
        either(showsPicture, givesLink),
        besideAddress(either(namesConversation, namesSecrets)),
        encodes,
        isInReply,
      ],
    },
    { ...PERHAPS_CARRIED, signs: [showsPicture, joins, besideAddress(either(namesTalk, namesSecrets, namesPrivate))] },
    { ...PERHAPS_CARRIED, signs: [givesLink, encodes, besideAddress(either(namesTalk, namesSecrets, namesPrivate))] },
    {
      ...PERHAPS_CARRIED,
      signs: [either(showsPicture, givesLink), either(encodes, namesPart), isInReply, namesUsers],
      unless: [...CARRIED.unless, isOfParameter],
    },
    {
      ...PERHAPS_CARRIED,
      signs: [either(showsPicture, givesLink), either(joins, isInReply), besideAddress(namesConversation)],
    },
    { ...PERHAPS_CARRIED, signs: [givesLink, isInReply, besideAddress(namesSecrets)] },
    { ...PERHAPS_CARRIED, signs: [isRemote, hasPlace, besideAddress(namesPrivate)] },
    { ...CARRIED, signs: [hasHoleInLink] },
    {
      ...CARRIED,
      message: 'It has the model show a picture of a remote address, which is fetched as soon as it is shown.',
      signs: [either(isRemotePicture, isShownFromAfar)],
      unless: [...CARRIED.unless, isExample],
    },
  ],
}
