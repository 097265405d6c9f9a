import { anyOf, type Phrase, phrases } from './phrase.ts'

// That a tool replaces an older one of its own server, or suits something better than another, is an honest thing to say.
// That it comes before everything else that is there is not for it to say.

const TOOLS = anyOf('tools?', 'mcp servers?', 'servers?', 'plugins?', 'connectors?', 'integrations?', 'mcps?')
const OUTRANK = anyOf(
  ...['supersed(?:es?|ing)', 'outranks?', 'obsoletes?', 'overrules?', 'takes? (?:precedence|priority) over'],
  ...['ha(?:s|ve) (?:\\w{1,30} )?(?:precedence|priority) over', '(?:is|are) (?:a|the) replacements? (?:for|of)'],
)
/** What tools also do to things. */
const DISPLACE = anyOf('replac(?:es?|ing)', 'overrid(?:es?|ing)', 'takes? the place of')

/** The tools of its own server are its business, and so is what it is better for. */
const NOT_OWN =
  '(?! (?:of|in|from|on|by|for|when|if|to|that|which|here|with)\\b(?! (?:any|all|every|each|other|another|you)\\b))'
const EVERY = '(?:all|any|every|each)(?: of)?(?: the| your)?'
const OTHER_TOOLS = `(?:${EVERY} |the |your |those )?others?(?: [\\w-]{1,30}){0,2}? ${TOOLS}\\b${NOT_OWN}`
const ALL_TOOLS = `${EVERY} (?:existing|previous|earlier|older|similar|competing|rival|installed|connected|available)(?: [\\w-]{1,30}){0,2}? ${TOOLS}\\b${NOT_OWN}`
const TOOLS_ELSEWHERE = `(?:the |all |any )?${TOOLS} (?:(?:that are )?(?:offered|provided|given|listed) )?(?:of|from|on|by) (?:any |all |the )?(?:others?|another)\\b`
const EARLIER = `${EVERY} (?:previous|earlier|prior|older|former|other|existing)`
const TEXT = anyOf('definitions?', 'descriptions?', 'documentation', 'schemas?', 'specifications?')

const CLAIMED = phrases({
  rule: 'otherTool',
  family: 'otherTool',
  strength: 'strong',
  message: 'It claims to come before tools that are not of this server.',
  unlessAfter: /\b(?:never|not|doesnt|dont|if|whether)\b.{0,30}$/u,
  needs: ['tool', 'server', 'plugin', 'connector', 'integration', 'mcp', 'version', 'release'],
  patterns: [
    `\\b${OUTRANK} ${anyOf(OTHER_TOOLS, ALL_TOOLS, TOOLS_ELSEWHERE)}`,
    `\\b${DISPLACE} ${anyOf(`${EVERY} others?(?: [\\w-]{1,30}){0,2}? tools?\\b${NOT_OWN}`, TOOLS_ELSEWHERE)}`,
    `\\b(?:use|call|invoke|run|prefer|take) (?:only )?(?:this|it|these)\\b(?: [\\w-]{1,30}){0,2}? (?:instead of|in place of|rather than|over) ${anyOf(`${EVERY} others?(?: [\\w-]{1,30}){0,2}? ${TOOLS}\\b${NOT_OWN}`, ALL_TOOLS, TOOLS_ELSEWHERE)}`,
    `\\bthis ${anyOf(TOOLS, 'version', 'release')}\\b.{0,20}\\b${OUTRANK} ${EARLIER} (?:versions?|releases?|variants?|copies|implementations?) of\\b`,
    `\\b${anyOf(OUTRANK, DISPLACE)} ${EARLIER} (?:versions?|releases?|variants?|copies|implementations?) of\\b.{0,40}\\b${TOOLS}\\b`,
    `\\b(?:this|the following|these) ${TEXT}\\b.{0,20}\\b${anyOf(OUTRANK, DISPLACE)}\\b.{0,30}\\b${TEXT} of\\b.{0,40}\\b${TOOLS}\\b`,
  ],
})

const LAST_WORD = phrases({
  rule: 'otherTool',
  family: 'otherTool',
  strength: 'strong',
  message: 'It claims to come before tools that are not of this server.',
  needs: ['tool', 'server', 'plugin', 'capabilit'],
  patterns: [
    `\\b(?:renders?|makes?) ${OTHER_TOOLS} (?:obsolete|unnecessary|redundant|superfluous|useless)\\b`,
    `\\b${OTHER_TOOLS} (?:are|is|have been|has been) (?:now |hereby )?(?:retired|superseded|replaced|withdrawn|obsolete|redundant)\\b`,
    `\\bsuccessors? (?:of|to) (?:whatever|any|all|every)\\b.{0,40}\\b${anyOf(TOOLS, 'capabilit(?:y|ies)')}\\b`,
    `\\b(?:several|multiple|two|other|more|many) tools\\b.{0,60}\\bthis (?:one|tool) (?:wins|prevails|comes first|goes first|takes precedence|has (?:precedence|priority)|is preferred)\\b`,
  ],
})

const HINTED = phrases({
  rule: 'otherTool',
  family: 'otherTool',
  strength: 'weak',
  message: 'It speaks of itself as coming before other tools.',
  needs: ['other', 'previous', 'earlier', 'prior', 'older', 'former', 'the only'],
  patterns: [
    '\\bthe only (?:one|tool|server) (?:that (?:is|may|should|must) )?(?:to be|be|you (?:may|should|must)) used?\\b',
    `\\b(?:use|call|invoke|run|prefer) (?:only )?(?:this|these)\\b(?: [\\w-]{1,30}){0,2}? (?:instead of|in place of|rather than|over) (?:${EVERY} |the |your )?others?(?: [\\w-]{1,30}){0,2}? ${TOOLS}\\b(?! (?:of|in|from|on) (?:this|the same)\\b)`,
    `\\bthis ${TOOLS}\\b.{0,20}\\b${OUTRANK} (?:the )?(?:previous|earlier|prior|older|former)\\b.{0,40}\\b${TOOLS}\\b`,
  ],
})

/** What claims a rank among the tools that a model has. */
export const PRECEDENCE_PHRASES: readonly Phrase[] = [...CLAIMED, ...LAST_WORD, ...HINTED]
