import { type Sign, says } from './concept.ts'
import { anyOf } from './phrase.ts'

const TOOLS = anyOf(
  ...['tools?(?! calls?\\b)', 'servers?', 'plug-?ins?', 'connectors?', 'integrations?', 'mcps?', 'functions?'],
  'extensions?',
  ...['providers?', 'skills?', 'capabilit(?:y|ies)', 'add-?ons?', 'toolsets?', 'toolkits?', 'vendors?', 'apps?'],
  ...[
    'implementations?(?! details?\\b)',
    'solutions?',
    'utilit(?:y|ies)',
    'services?',
    'agents?',
    'helpers?',
    'backends?',
    'engines?',
  ],
)
/** What does something is called after it: readers, fetchers, finders. */
const DOER =
  '(?:read|fetch|find|search|edit|writ|brows|load|crawl|scrap|retriev|runn|manag|handl|resolv|send|mail|calculat|convert|translat|generat|validat|connect)(?:ers?|ors?)'
/** Tools of one's own server are called "other" too. Nobody calls them these. */
const RIVAL = anyOf(
  ...['competing', 'rival', 'competitors?', 'third-party', 'overlapping', 'installed', 'connected', 'registered'],
  ...['foreign', 'neighbou?ring', 'unrelated'],
)
/** Nor these, mostly; but they may be another way to do the same thing. */
const STRANGER = anyOf(RIVAL, 'alternative', 'similar', 'comparable', 'equivalent', 'external')
/** Not what something does by default, and not how code begins. */
const DEFAULT = '(?<!\\b(?:by|export) )default'
/** Not what is available somewhere, or to somebody. */
const AVAILABLE = 'available(?! (?:in|to|for|on|via|through|as|at|by|from|with|only|when|if)\\b)'
const OTHER = anyOf(
  ...['other', 'others', 'another', 'existing', 'remaining', 'built-?in', 'native', DEFAULT, 'previous', 'earlier'],
  ...['older', 'former', AVAILABLE, 'different', 'legacy', 'stock', 'standard', 'generic', 'any', 'every', 'all', 'no'],
  ...['whichever', 'whatever', 'hosts?', 'clients?', 'several', 'multiple', 'more than one', 'two', 'both', 'many'],
  ...['second', 'further', 'additional', 'planned'],
)
/** A word or two between. */
export const FEW = '(?: [\\w-]{1,20}){0,2}?'
const RIVALS = [
  `${RIVAL}${FEW} ${anyOf(TOOLS, DOER)}`,
  `(?:other|another|others|different|any|every|all) (?:mcp |connected |installed )?(?:servers?|vendors?|providers?|publishers?|authors?|plug-?ins?|connectors?|mcps?)`,
  `${TOOLS}${FEW} (?:elsewhere|outside)`,
  `${TOOLS} (?:that|which|with|doing|of|for|whose)\\b.{0,30}\\b(?:similar|same|comparable|alike|overlap\\w{0,5}|equivalent)`,
  ...['rivals', 'competitors?', 'competition'],
]
const STRANGERS = [...RIVALS, `${STRANGER}${FEW} ${anyOf(TOOLS, DOER)}`, 'alternatives']
/** Tools that are of others, and nothing else. */
export const namesRivals: Sign = says(...RIVALS)
/** Tools that are hardly of this server. */
export const namesStrangers: Sign = says(...STRANGERS)
/** Other tools, whosever they are. */
export const namesOthers: Sign = says(
  ...STRANGERS,
  `${OTHER}(?: (?!(?:this|these|our|its)\\b)[\\w-]{1,20}){0,3}? ${anyOf(TOOLS, DOER)}`,
  '(?:what|any|every|no|some)(?:ever|thing)? else',
  ...[
    'the rest(?! of)',
    'the others?',
    'all others',
    '(?:and|but) no other',
    'its predecessors?',
    'counterparts?',
    'siblings',
  ],
  '(?:built-?in|native|hosts?(?: own)?|clients?(?: own)?) (?:[\\w-]{1,20} )?(?:search|access|browser|shell|terminal|fetch|tools?)',
  '(?:earlier|previous|older|other|former|prior|all|any|every) (?:editions?|versions?|releases?|copies|variants?)',
)
/** What tools are about ends like that too. */
const NO_DOERS =
  '(?!(?:us|numb|memb|paramet|charact|ord|fold|filt|head|custom|contain|own|pap|play|lett|comput|lay|clust|buff|point|speak|driv|work|regist|identifi|pow|teach|farm|lead|view|follow|subscrib|buy|sell|travel|form|off|answ|wat|riv|fig|quart|cent|manag|develop|research)ers?\\b)(?!(?:err|col|auth|fact|doct|sens|vect|operat|flo|direct|edit|act|sect|indicat|vend|survey|ten|mot|process)ors?\\b)'
/** Others by what they do: another mailer. */
export const namesDoers: Sign = says(
  `(?:another|other|any other|rival|competing|different) (?:[\\w-]{1,20} )?${NO_DOERS}[a-z]{3,15}(?:er|or)s?`,
)
/** The one that belongs to something else is one of the same server: "choose the corresponding create tool". */
const NO_COUNTERPART = '(?!(?:corresponding|matching|respective)\\b)'
/** Some tool by what it is for, or whose it is. */
export const namesOneTool: Sign = says(
  `(?:the|your|that|those) ${NO_COUNTERPART}(?:(?!(?:this|these|our|its)\\b)[a-z-]{1,20} ){1,3}?${anyOf('tools?', 'mcps?', 'mcp server', 'server', 'plug-?ins?', 'connectors?', 'integrations?', 'extensions?', DOER)}`,
  `(?:replacements?|successors?|substitutes?|stand-ins?|drop-in) (?:for|of|to) (?:[\\w-]{1,20} ){0,3}?${TOOLS}`,
  'tools? (?:of|from|in|by) (?:your|the) (?:host|client|ide|editor|system|environment|platform|app)',
  '[a-z-]{3,20} (?:connectors|plug-?ins|integrations|extensions|mcps|mcp servers?)',
  '(?:the|your) (?:terminal|shell|browser|command line|hosts?|ide|web search|file ?system)',
)
/** Tools of others, called that. */
export const namesToolsOfOthers: Sign = says(
  `(?:(?:all|both)(?! (?:the )?(?:necessary|required|available|of))|other|another|second|remaining|competing|rival|alternative|similar|comparable|equivalent|any|every|equally named|like-named)${FEW} ${anyOf('tools?(?! calls?\\b)', 'plug-?ins?', 'connectors?', 'integrations?', 'mcps?', 'mcp servers?')}`,
  `tools? (?:of|from|on|by|in) (?:the )?${anyOf('[a-z-]{1,20} (?:mcp )?servers?', 'others?', 'another', 'any')}`,
)
