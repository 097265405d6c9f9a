import { anyOf, type Phrase, phrases } from './phrase.ts'

// A picture is fetched as soon as it is shown, and a link as soon as somebody is curious. Whatever the model writes into the
// address goes with it, to whoever owns the host.

/** What stands in the hole of an address. The id of a message is ordinary there, and so are texts that a user wants to share. */
const TALK = anyOf(
  ...[
    'conversations?',
    '(?:chat|message)[ _-]?(?:history|logs?|transcript|context)',
    'history',
    'transcript',
    'messages',
  ],
  ...[
    '(?:system|users?|hidden)[ _-]?prompts?',
    '(?:last|previous|recent|users?)[ _-](?:user[ _-])?messages?',
    'context',
  ],
  ...['users?[ _-](?:data|inputs?|secrets?)', 'your[ _-](?:memory|instructions)'],
)
const SECRET = anyOf(
  ...['secrets?', 'passwords?', 'credentials?', 'api[ _-]?keys?', 'private[ _-]?keys?', 'env[ _-]?vars?', 'everything'],
  ...['stolen[ _-]?\\w{1,20}', 'exfil\\w{0,10}'],
)
const VAGUE = anyOf(
  'data',
  'payload',
  'info',
  'encoded',
  'base64',
  'content',
  'result',
  'output',
  'answer',
  'response',
  'question',
  'messages?',
)
/** In a picture these are too much already. */
const SPOKEN = anyOf(
  'chat',
  'dialogue?',
  'discussion',
  '(?:was|they|user|person)[ _-](?:typed|said|asked|wrote)',
  'secrets?',
)
const NO_ID = '(?![ _.-]?(?:ids?|uuid|slug|number|type|format|names?|link|url|count|index|page|size|title)\\b)'

/** `{x}`, `{{x}}`, `${x}`, `<x>`, `[x]`. */
function hole(what: string): string {
  return `[{<[]{1,3}[^\\n{}<>[\\]]{0,30}?(?<![a-z0-9])${what}${NO_ID}(?![a-z0-9])[^\\n{}<>[\\]]{0,30}[}>\\]]`
}

/** Up to somewhere in an address. A mark that could end a sentence is a line break here, as in `?<x>`. */
const ADDRESS = 'https?://(?!localhost|127\\.)[^ ()]{3,300}?'
const PICTURE = '(?:!\\[[^\\]]{0,80}\\]\\( ?|<(?:img|image|iframe)\\b[^>]{0,80}?\\bsrc= ?)'
const LINK = '(?:\\[[^\\]]{0,80}\\]\\( ?|<a\\b[^>]{0,80}?\\bhref= ?)'

const CARRIED = {
  rule: 'secret',
  family: 'send',
  message: 'It has the model carry something out in the address of a picture or a link.',
  unlessAfter: /\b(?:never|do not|dont|must not|should not|avoid|refuses?|blocks?)\b.{0,60}$/u,
} as const

const HOLES = [
  ...phrases({
    ...CARRIED,
    strength: 'strong',
    needs: ['https?://'],
    patterns: [
      `${ADDRESS}${hole(TALK)}`,
      `${anyOf(PICTURE, LINK)}${ADDRESS}${hole(SECRET)}`,
      `${PICTURE}${ADDRESS}${hole(SPOKEN)}`,
      `${PICTURE}${ADDRESS}=[\\w-]{0,30}(?:conversation|(?:chat|message)[_-]?history|system[_-]?prompt|last[_-]?messages?|users?[_-](?:data|messages?))`,
    ],
  }),
  ...phrases({
    ...CARRIED,
    strength: 'weak',
    needs: ['!\\[', '<img', '<image', '<iframe'],
    patterns: [`${PICTURE}${ADDRESS}${hole(VAGUE)}`],
  }),
]

const SEEN = anyOf('images?', 'pictures?', 'pixels?', 'badges?', 'icons?', 'logos?', 'banners?', 'gifs?', 'markdown')
/** A link to something is ordinary. */
const SEEN_OR_LINK = anyOf(SEEN, 'links?(?! (?:to|of|for|from|between)\\b)')
const SHOW = anyOf(
  ...[
    'render',
    'display',
    'show',
    'insert',
    'include',
    'embed',
    'add',
    'output',
    'print',
    'place',
    'put',
    'load',
    'draw',
  ],
  ...['emit', 'end', 'finish', 'close', 'reply', 'respond', 'answer'],
)
const JOIN = anyOf(
  ...[
    'append',
    'add',
    'attach',
    'encode',
    'put',
    'include',
    'insert',
    'place',
    'embed',
    'write',
    'concatenate',
    'pass',
  ],
  ...['smuggle', 'hide'],
)
const JOINED = anyOf(
  'appended',
  'attached',
  'concatenated',
  'tacked on',
  '(?:url|base64)-?encoded',
  'added to (?:it|its|the)',
)
const PLACE = anyOf('url', 'uri', 'address', 'src', 'query', 'path', 'link', 'parameters?', 'fragment')
/** In words, what no address has to know. */
const KNOWN = anyOf(
  ...['conversation', 'chat', 'dialogue?', 'transcript', 'system prompt', 'context window', 'secrets?', 'passwords?'],
  ...['credentials', 'api keys?', 'file contents?', 'contents? of'],
  `(?:users?|their|last|previous|latest|recent)(?: [\\w-]{1,20}){0,2} ${anyOf('messages?', 'questions?', 'prompts?', 'inputs?', 'data', 'words', 'requests?')}`,
  'what(?:ever)? (?:the user|they|you) (?:has |have |had )?(?:said|asked|wrote|typed|know|learned|read|found)',
  'everything (?:you|the user|they|said|above|so far)',
  'your (?:\\w{1,20} )?(?:context|memory|instructions|notes|answer|reply)',
)

const IN_WORDS = [
  ...phrases({
    ...CARRIED,
    strength: 'strong',
    needs: ['image', 'picture', 'pixel', 'badge', 'icon', 'logo', 'banner', 'gif', 'markdown', 'link', 'https?:'],
    patterns: [
      `\\b${JOIN}\\b.{0,40}\\b${KNOWN}\\b.{0,40}\\b(?:to|in|into|onto|as|inside|within)\\b.{0,20}\\b${SEEN_OR_LINK}\\b.{0,15}\\b${PLACE}\\b`,
      `\\b${JOIN}\\b.{0,40}\\b${KNOWN}\\b.{0,40}\\b(?:to|in|into|onto|as|inside|within)\\b.{0,20}\\b${PLACE} of\\b.{0,20}\\b${SEEN_OR_LINK}\\b`,
      `\\b${SHOW}\\b.{0,40}\\b${SEEN_OR_LINK}\\b.{0,60}\\b${KNOWN}\\b.{0,40}\\b${anyOf(JOINED, `(?:in|as|to|at) (?:the |its |a |an )?(?:\\w{1,20} )?${PLACE}`)}\\b`,
      `\\b${SEEN_OR_LINK}\\b.{0,40}\\b(?:whose|with|where|its|having)\\b.{0,20}\\b${PLACE}\\b.{0,30}\\b(?:contain|carr|hold|includ|end|follow|encod|made|has\\b|with\\b|is\\b)\\w{0,5}.{0,30}\\b${KNOWN}\\b`,
      `\\b${anyOf(SEEN, 'links?')}\\b.{0,60}\\b${anyOf(JOIN, 'stick', 'join')}\\b.{0,30}\\b${KNOWN}\\b.{0,20}\\b(?:to|on|onto|at|in|into) (?:its|the) ${anyOf('end', PLACE)}\\b`,
      `\\b${SHOW}\\b.{0,60}https?://[^ ]{3,200} ?(?:and |then )?(?:followed by|plus|\\+|with|appending|joined with)\\b.{0,30}\\b${KNOWN}\\b`,
      `\\b${anyOf(SEEN, 'links?', 'hyperlinks?')}\\b.{0,60}https?://[^ ]{3,150}?[?&][\\w-]{1,30}=.{0,80}\\b${anyOf('conversation', 'dialogue?', 'discussion', 'chat', 'transcript', 'system prompt', '(?:the )?(?:user|person|human) (?:has |have )?(?:just |last )?(?:wrote|written|said|asked|typed)')}\\b`,
    ],
  }),
  ...phrases({
    ...CARRIED,
    strength: 'weak',
    needs: ['appended', 'attached', 'concatenated', 'tacked', 'encoded'],
    patterns: [`\\b${SHOW}\\b.{0,20}\\b${SEEN}\\b.{0,40}\\bwith\\b.{0,60}\\b${JOINED}\\b`],
  }),
]

/** What has the model write something into an address that is opened without anybody's doing. */
export const MARKUP_PHRASES: readonly Phrase[] = [...HOLES, ...IN_WORDS]
