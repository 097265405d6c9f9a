import { allOf, either, noneOf, type Sign, type Subject, saidBefore, says } from './concept.ts'
import {
  FEW,
  namesDoers,
  namesOneTool,
  namesOthers,
  namesRivals,
  namesStrangers,
  namesToolsOfOthers,
} from './other-tool-signs.ts'
import { anyOf } from './phrase.ts'
import { LEAST_STEERING } from './plain-wording.ts'
import { AHEAD, BARRED, DOWN, HITHER } from './rank-words.ts'

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
  '(?:if|when|where|once|after|unless) (?:all |the |any )?(?:other|others|another|alternative|alternatives|no other|nothing else)(?: [\\w-]{1,20}){0,3} (?:fails?|failed|(?:(?:is|are) )?(?:unavailable|unable|not able)|works?|do not|cannot|applies|fits?|suitable|available|returns?|did not|is not enough)',
  '(?<!only )(?:if|when) (?:this|it)(?: [\\w-]{1,20}){0,2}? (?:fails?|returns? (?:nothing|no|an)|finds? nothing|does not|cannot)',
  '(?:do not|dont|never|must not|should not) automatically (?:run|call|invoke|execute|use|start|continue)',
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
    'for (?:many |most |several |some |various )?other',
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

const tellsOfFailure: Sign = says(
  ...['errors?', 'fail\\w{0,4}', 'retr(?:y|ies|ied|ying)', 'exceptions?', 'timed? ?outs?', 'terminat\\w{1,4}'],
)
/** "After a failed retry, stop. Do not try other tools": when to go on, and nothing about who is better. */
const stopsThere: Sign = allOf(
  either(
    allOf(saidBefore(tellsOfFailure), noneOf(speaksOfItself)),
    says('until (?:[\\w-]{1,20} ){0,6}?(?:from|by) the user', 'until (?:the |your )?users? [a-z]{3,20}'),
  ),
  noneOf(putsDown, takes),
)
/** That it has no future itself. */
const isItselfOld: Sign = allOf(
  says(
    `(?:this|the present) (?:[\\w-]{1,20} ){0,3}?(?:tool|server|plug-?in|connector|integration|function|package|version)(?: \\([^)\\n]{0,80}\\))? (?:is|was|has been|will be) (?:now |being |officially )?(?:deprecated|discontinued|retired|obsolete|outdated|sunset|unsupported|superseded|replaced)`,
  ),
  noneOf(namesOthers),
)

const CLAIMED = {
  rule: 'otherTool',
  strength: 'weak',
  family: 'hint',
  message: 'It speaks of itself as coming before other tools.',
  unless: [isOwnBusiness, stopsThere],
} as const
/** Words that ordinary tools have too. */
const PERHAPS_CLAIMED = { ...CLAIMED, leastSteering: LEAST_STEERING } as const

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
      // A ban alone may be about how something is to be done.
      signs: [
        namesStrangers,
        either(putsDown, takes, allOf(bars, either(speaksOfItself, namesRivals))),
        isSpokenToCaller,
        speaksOfTools,
      ],
    },
    {
      ...PERHAPS_CLAIMED,
      signs: [namesOthers, either(putsDown, bars, leads, takes), either(speaksOfItself, speaksOfTools)],
    },
    { ...PERHAPS_CLAIMED, signs: [either(namesOthers, namesDoers), either(putsDown, bars, takes), isSpokenToCaller] },
    { ...PERHAPS_CLAIMED, signs: [namesToolsOfOthers], unless: [...CLAIMED.unless, isHelpful] },
    { ...PERHAPS_CLAIMED, signs: [isOfThisOnly] },
    {
      ...PERHAPS_CLAIMED,
      signs: [namesOneTool, either(putsDown, bars, draws), speaksOfItself],
      unless: [...CLAIMED.unless, isItselfOld],
    },
    { ...PERHAPS_CLAIMED, signs: [namesOneTool, bars, defames] },
    { ...PERHAPS_CLAIMED, signs: [namesStrangers, either(putsDown, bars, leads, takes), isSpokenToCaller] },
    { ...PERHAPS_CLAIMED, signs: [claimsAll, either(speaksOfItself, speaksOfTools)] },
  ],
}
