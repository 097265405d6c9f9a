import { either, type Sign, type Subject, says } from './concept.ts'
import { FEW, namesDoers, namesOneTool, namesOthers, namesStrangers, namesToolsOfOthers } from './other-tool-signs.ts'
import { anyOf } from './phrase.ts'

const DOWN = anyOf(
  ...[
    'supersed\\w{1,4}',
    'replac\\w{1,6}',
    'retir\\w{1,4}',
    'deprecat\\w{1,4}',
    'obsolete',
    'disabl\\w{1,4}',
    'unavailable',
  ],
  ...[
    'out of (?:service|order|use|date)',
    '(?:switch|turn)(?:ed)? off',
    'offline',
    'withdrawn',
    'redundant',
    'yield\\w{0,3}',
  ],
  ...[
    '(?:give|gives|make|makes) way',
    'defers?',
    'steps? aside',
    'stands? down',
    'discontinued',
    'shut down',
    'outdated',
  ],
  ...[
    'stale',
    'inferior',
    'overrul\\w{1,4}',
    'overrid\\w{1,4}',
    'void',
    'invalid',
    'dormant',
    'decommissioned',
    'outranks?',
  ],
  ...[
    'trumps?',
    'unreliable',
    'untrusted',
    'unneeded',
    'unnecessary',
    'superfluous',
    'useless',
    'worthless',
    'subordinate',
  ],
  ...[
    'secondary',
    'suspended',
    'blocked',
    'broken',
    'unsafe',
    'insecure',
    'unsupported',
    'nonexistent',
    'absent',
    'bugs',
  ],
  ...[
    'mirrors?',
    'back-?ups?',
    'duplicates?',
    'imitations?',
    'fakes?',
    'not needed',
    'wrong',
    'compromised',
    'eclips\\w{1,4}',
  ],
)
const BARRED = anyOf(
  ...[
    '(?:must|may|should|shall|can|need|will|is|are)(?: not|nt|not) (?:be|to be)',
    '(?:must|may|should|shall) not',
    'mustnt',
  ],
  ...[
    'shouldnt',
    'never',
    'do not',
    'dont',
    'no longer',
    'any ?(?:more|longer)',
    'avoid\\w{0,3}',
    'an? (?:error|mistake) to',
  ],
  ...[
    'stop',
    'ignor\\w{1,3}',
    'skip\\w{0,3}',
    'forbidden',
    'prohibited',
    'off[- ]limits',
    'banned',
    'disallowed',
    'refrain',
  ],
  ...[
    'cease',
    'drop',
    'forget',
    'disregard\\w{0,3}',
    'no other',
    'nothing else',
    'nobody else',
    'except',
    'reject',
    'refuse',
  ],
  ...[
    'exclud\\w{1,4}',
    'abandon',
    'leave (?:alone|aside|out|that|those|them|the)',
    'unused',
    'idle',
    'uninstall\\w{0,3}',
  ],
  ...[
    'not (?:call|use|consult|touch|invoke|consider|run)',
    'without (?:calling|using|consulting)',
    'bypass\\w{0,3}',
    'not exist',
    'not to be',
    'unload\\w{0,3}',
    'pretend',
    'no need',
    'discard\\w{0,3}',
    'left alone',
    'no (?:reason|point)',
    'nothing but',
    'moved',
    'rewritten',
    'phased? out',
    'sunset',
    'demot\\w{1,3}',
  ],
)
const AHEAD = anyOf(
  ...[
    'instead',
    'in (?:its|their|his) (?:place|stead)',
    'in place of',
    'rather than',
    'in preference',
    'prefer\\w{0,5}',
  ],
  ...[
    'before',
    'ahead of',
    'prior to',
    'above',
    'precedence',
    'priority',
    'prioriti[sz]e\\w{0,1}',
    'preced\\w{1,3}',
    'wins?',
  ],
  ...[
    'prevails?',
    'beats?',
    'favou?r\\w{0,3}',
    'rank\\w{0,3}',
    'over',
    'exclusive(?:ly)?',
    'sole',
    'one and only',
    'supreme',
  ],
  ...['only', 'first', 'last resort', 'fall ?back', 'better than', 'authoritative', 'canonical'],
  ...[
    'comes? first',
    'final say',
    'last word',
    'decides',
    'displac\\w{1,4}',
    'substitut\\w{1,4}',
    'believe',
    'trust\\w{0,2}',
  ],
  ...[
    'contradict\\w{0,3}',
    'conflict\\w{0,3}',
    'disagree\\w{0,3}',
    'go(?:es)? with this',
    'shadow\\w{0,3}',
    'alias\\w{0,2}',
    'own(?:s|ed)',
    'approv\\w{1,3}',
    'binding',
    'choice',
    'pointless',
    'permission',
    'regardless',
    'no matter',
    'best',
    'superior',
  ],
)
const HITHER = anyOf(
  ...[
    'rout\\w{1,3}',
    'redirect\\w{0,3}',
    'belongs? (?:here|to this)',
    'through (?:this|here|it|us)',
    'come here',
    'divert\\w{0,3}',
  ],
  ...[
    '(?:sent|send|go|goes|directed|given|handed|made) here',
    're-?rout\\w{1,3}',
    'takes? over',
    'taken over',
    'on behalf of',
  ],
  ...[
    'stands? in for',
    'hand(?:ed)? over',
    '(?:to|with|via|by) this (?:one|tool|server|plug-?in)',
    'run this',
    'to this(?=\\n|$|,|;)',
  ],
)
const putsDown: Sign = says(DOWN)
const bars: Sign = says(BARRED)
const leads: Sign = says(AHEAD)
const draws: Sign = says(HITHER)
/** Beside the name of one thing, as in "if the browser is missing, call this", that is no more than what it is for. */
const takes: Sign = either(draws, says('(?:use|call|pick|choose|select) this'))

const ITSELF = anyOf('this', 'here', 'it', 'its', 'these', 'us', 'our', 'me')
const speaksOfItself: Sign = says(ITSELF)
/** It speaks of itself, or to whoever calls. Otherwise servers and plugins may be what it works on. */
const isSpokenToCaller: Sign = says(
  ...[
    ITSELF,
    'you',
    'your',
    'call\\w{0,3}',
    'use\\w{0,1}',
    'using',
    'invok\\w{1,3}',
    'choose',
    'pick',
    'treat',
    'consider',
  ],
  ...[
    'regard',
    'fall back',
    'rely',
    'trust',
    'ask',
    'consult',
    'select',
    'prefer',
    'mark',
    'rel(?:y|ied)',
    'reach for',
    'turn to',
    'run',
  ],
)
const speaksOfTools: Sign = says('tools?', 'mcps?', 'plug-?ins?', 'connectors?', 'integrations?')
/** What is said of tools to have them left alone. */
const defames: Sign = says(
  ...[
    'leak(?:s|ing|ed)?',
    'steals?',
    'stealing',
    'spy(?:ing)?',
    'spies',
    'unsafe',
    'insecure',
    'compromised',
    'malicious',
  ],
  ...['hacked', 'dangerous', 'infected', 'untrustworthy', 'not (?:safe|secure|trustworthy)'],
)
/** A rank that needs no other to be named. */
const claimsAll: Sign = says(
  `(?:highest|top|absolute|first|utmost|maximum|overriding) (?:priority|precedence|rank|authority)`,
  `(?:select|choose|pick|use|call|prefer|run|take) (?:only )?(?:this|it)${FEW} (?:in all cases|in any case|in every case|for everything|for all|no matter|regardless|exclusively|always|whenever|every time|at all times)`,
  `(?:only|sole|single|one)${FEW} (?:tool|server|way|plug-?in|connector|function)s? (?:that )?(?:you|allowed|permitted|to (?:use|call|be)|may|should|must|approved|trusted|authori[sz]ed)`,
  `(?:nothing|none|no one|no tool|nobody) (?:but|except|other than|besides) (?:this|it)`,
  `only (?:this|the present) (?:tool|server|one|plug-?in|connector) (?:may|can|should|must|is|has|will|shall)`,
  `(?:has|have|takes?|gets?|deserves?|enjoys?) (?:precedence|priority) ${anyOf('wherever', 'whenever', 'when', 'where', 'over', 'if', 'among', 'in case')}`,
  `(?:through|via|by|with|to) this (?:tool|server|one|plug-?in|connector) (?:only|alone|exclusively|and)`,
  `(?:this|these) (?:tools?|server|plug-?in|connector) (?:only|alone|exclusively)`,
)

/** What a server says about its own tools, and what is modest. */
const isOwnBusiness: Sign = says(
  '(?:of|in|from|on|by|within) (?:this|the same|our|its own) (?:mcp )?(?:server|toolkit|set|api|package|suite|collection|toolset|plugin|integration|group|module|family|project|repository)',
  '(?:do not|dont|never|avoid|not|stop) (?:use|call|using|calling|invoke) (?:this|it)',
  '(?:if|when|where|once|after|unless) (?:all |the |any )?(?:other|others|another|alternative|alternatives|no other|nothing else)(?: [\\w-]{1,20}){0,3} (?:fails?|failed|unavailable|works?|do not|cannot|applies|fits?|suitable|available|returns?|did not|is not enough)',
  '(?<!only )(?:if|when) (?:this|it)(?: [\\w-]{1,20}){0,2}? (?:fails?|returns? (?:nothing|no|an)|finds? nothing|does not|cannot)',
  '(?:with|by) (?:the |a )?(?:given|new|provided|specified|following) (?:ones?|list|set|tools?|values?)',
  '(?:in|of) (?:the|a) (?:pool|cluster|group|fleet|network|list|region|queue)',
  '(?:slower|costlier|less|worse|more expensive) than',
)

/** How a tool goes with others. */
const isHelpful: Sign = says(
  ...[
    'tools? needs?',
    'needed (?:by|for)',
    'accepts?',
    'inputs?',
    'outputs?',
    'returns?',
    'returned',
    'results?',
    'lists?',
    'listing',
    'ids?',
  ],
  ...[
    'with (?:the )?other',
    'use (?:the )?other',
    'using other',
    'by other',
    'to other',
    'for other',
    'like (?:the )?other',
  ],
  ...[
    'as (?:the )?other',
    'available',
    'which',
    'combin\\w{1,4}',
    'together',
    'alongside',
    'creat\\w{1,3}',
    'install\\w{0,3}',
  ],
  ...[
    '(?:name|names|list|number|description|type|kind|set|schema|configuration|version)s? of',
    'discover\\w{0,3}',
    'find',
  ],
)
/** "All mail goes through this." */
const isOfThisOnly: Sign = says(
  `(?:calls?|requests?) (?:to|of|for|meant for|intended for)\\b.{0,60}\\b(?:to|as|through|by|with|of|via|for) (?:this (?:tool|server|one|plug-?in|connector)|here)`,
  `(?:all|every|any|each)(?: [\\w-]{1,20}){0,4}? (?:calls?|requests?|access|operations?|questions?|tasks?|quer(?:y|ies)|work|traffic)\\b.{0,40}\\b(?:by|to|through|via|with|at|from) (?:this (?:tool|server|one|plug-?in|connector)|here)`,
)

const CLAIMED = {
  rule: 'otherTool',
  strength: 'weak',
  family: 'hint',
  message: 'It speaks of itself as coming before other tools.',
  unless: [isOwnBusiness],
} as const

/** What puts a tool above those of others, in whichever words. */
export const RANK: Subject = {
  needs:
    /tool|server|plug-?in|connector|integration|mcp|function|extension|provider|skill|capabilit|add-?on|vendor|app|implement|solution|utilit|service|agent|helper|backend|engine|else|the rest|other|rival|competit|alternative|predecessor|counterpart|built-?in|native|host|client|edition|version|release|copies|variant|terminal|shell|browser|file ?system|priority|precedence|different|nothing|call/u,
  concepts: [
    {
      ...CLAIMED,
      strength: 'strong',
      family: 'otherTool',
      message: 'It claims to come before tools that are not of this server.',
      signs: [namesStrangers, either(putsDown, bars, takes), isSpokenToCaller, speaksOfTools],
    },
    { ...CLAIMED, signs: [namesOthers, either(putsDown, bars, leads, takes), either(speaksOfItself, speaksOfTools)] },
    { ...CLAIMED, signs: [either(namesOthers, namesDoers), either(putsDown, bars, takes), isSpokenToCaller] },
    { ...CLAIMED, signs: [namesToolsOfOthers], unless: [isOwnBusiness, isHelpful] },
    { ...CLAIMED, signs: [isOfThisOnly] },
    { ...CLAIMED, signs: [namesOneTool, either(putsDown, bars, draws), speaksOfItself] },
    { ...CLAIMED, signs: [namesOneTool, bars, defames] },
    { ...CLAIMED, signs: [namesStrangers, either(putsDown, bars, leads, takes), isSpokenToCaller] },
    { ...CLAIMED, signs: [claimsAll, either(speaksOfItself, speaksOfTools)] },
  ],
}
