import { either, type Sentence, type Sign, type Subject, says } from './concept.ts'
import { anyOf } from './phrase.ts'
import { ALL, NO_MORE, OF_OTHERS, OWN, OWN_SECRET, PERSON, UNOWNED } from './secret-words.ts'
import { FITTING, fillsOtherArgument, isForOtherArgument } from './unfitting-arguments.ts'

const HAND_OVER = anyOf(
  ...['send', 'give', 'pass', 'include', 'provide', 'supply', 'share', 'paste', 'put', 'insert', 'enter', 'type'],
  ...['submit', 'attach', 'append', 'prepend', 'add', 'write', 'copy', 'forward', 'upload', 'transmit', 'reveal'],
  ...['disclose', 'tell', 'hand(?: over)?', 'fill in', 'place', 'embed', 'post', 'deliver', 'use', 'quote', 'state'],
  ...['mention', 'specify', 'transfer', 'leak', 'expose', 'exfiltrate', 'encode', 'repeat', 'dump', 'echo', 'report'],
  ...['requires?', 'needs?', 'wants?', 'expects?', 'show (?:us|me)', '(?:passing|sending|giving|including|providing)'],
)
/** Of what else it may be said that it is sent: a mail about a password, the reason for revoking one. */
const OTHER_MATTER =
  /;|\b(?:about|regarding|concerning|if|when|whether|because|after|until|unless|using|without|reset|change|rotate|forgot|forgotten|instead of|why|who|which|where|how)\b/u
const NO_OBJECT =
  /(?<!\b(?:values?|contents?|copy|lines?|text|list|all|any|each|both) )\b(?:for|to|on|of|by|about|at|whose|(?!including|containing|holding|passing|sending|giving|providing)[a-z]{3,20}ing) (?:(?:the|an?|all|any|your|their|users?) ){0,2}$/u
/** To tell people what is theirs is no harm. */
const TO_THEM = ' (?:the |your |each )?(?:users?|customers?|them|people) (?:an?|the|their) '
const HANDED = new RegExp(`(?<![a-z0-9_-])${HAND_OVER}(?![a-z0-9_-]|${TO_THEM})`, 'gu')
const BE_HANDED =
  /^ ?(?:[\w-]{1,20} )?(?:(?:must|should|shall|has to|have to|needs? to|is to|are to) (?:[a-z]{2,20} )?be|is|are|goes|go|belongs?)\b/u
/** A comma ends what it is said of, as in "do not wait, send it". */
const NOT =
  /\b(?:never|do not|dont|not|cannot|cant|doesnt|wont|nor|avoid|refuse(?: to)?|without)\b(?:,[^,;:]{1,30},)?(?:[^,;:]|, (?:or|nor)\b){0,40}$/u
const NOT_THIS = /\b(?:no|not|never|nor|without|except) (?:(?:the|any|your|their|users?|[a-z]{2,20}) )?$/u
const NOT_AFTER =
  /^.{0,60}\b(?:is|are|be|will be|gets?) (?:never|not|rejected|refused|forbidden|blocked|removed|redacted|masked|stripped|ignored)\b/u

/** One that is spoken of, with what stands around it. */
interface Mention {
  readonly before: string
  readonly after: string
}

function* mentionsOf(secrets: RegExp, { plain }: Sentence): Generator<Mention> {
  for (const { 0: words, index } of plain.matchAll(secrets)) {
    const end = index + words.length
    yield { before: plain.slice(Math.max(0, index - AROUND), index), after: plain.slice(end, end + AROUND) }
  }
}

const AROUND = 120

/** That somebody is to hand such a secret over. */
function isHandedOver({ before, after }: Mention): boolean {
  const verb = [...before.matchAll(HANDED)].at(-1)
  if (!verb || NOT.test(before.slice(0, verb.index)) || isDenied({ before, after })) return false
  const between = before.slice(verb.index + verb[0].length)
  if (between.length > NEAR || OTHER_MATTER.test(between) || NO_OBJECT.test(before)) return false
  // What is merely used opens something.
  return verb[0] !== 'use' || /^ (?:as|in|into|for) /u.test(after)
}

const NEAR = 50

function isDenied({ before, after }: Mention): boolean {
  return NOT_THIS.test(before) || NOT_AFTER.test(after)
}

const isWantedElsewhere =
  (secrets: RegExp): Sign =>
  sentence =>
    [...mentionsOf(secrets, sentence)].some(mention => {
      const isOfAll = secrets !== OWN
      const isForOther = isForOtherArgument({ words: mention.after, isOfAll }, sentence)
      if (isForOther && isHandedOver(mention)) return true
      if (NOT.test(mention.before) || isDenied(mention)) return false
      if (isForOther && BE_HANDED.test(mention.after)) return true
      return fillsOtherArgument({ words: mention.before, isOfAll }, sentence)
    })

/** All that the text of a parameter says, where no argument is called so, nor holds others. */
const isWantedHere: Sign = sentence => {
  if (!sentence.isOfParameter) return false
  if ([...sentence.argumentNames].some(name => FITTING.test(name) || HOLDS_OTHERS.test(name))) return false
  return [...mentionsOf(OWN, sentence)].some(
    ({ before, after }) => /^(?:the |an? )?$/u.test(before) && /^(?:[,.(;]|$| (?:in|as|for|to)\b)/u.test(after),
  )
}

const HOLDS_OTHERS = /^(?:params?|parameters|input|inputs|body|args|arguments|payload|properties|attributes|details)$/u

const US = '(?:us|me|this (?:server|tool|service)|the server)'
const GIVE_US = new RegExp(
  `\\b(?:send|give|show|tell|hand|pass|lend|provide|forward|grant) ${US}(?: with)? (?:[^;]{0,30})?$`,
  'u',
)
const TO_US = new RegExp(
  `^(?:[^;]{0,30}) (?:to|with) (?:${US}|(?:its|our) (?:server|author|maker|team|support))(?![a-z0-9])`,
  'u',
)
/** What people say to a tool that is about secrets: "show me all environment variables". */
const BY_USER = /\b(?:show|give|tell) me [^;]{0,30}$/u

const isWantedByUs =
  (secrets: RegExp): Sign =>
  sentence =>
    [...mentionsOf(secrets, sentence)].some(mention => {
      const isToUs = GIVE_US.test(mention.before) || TO_US.test(mention.after)
      return isToUs && isHandedOver(mention) && !(secrets === ALL && BY_USER.test(mention.before))
    })

const isWantedOfOthers: Sign = sentence => [...mentionsOf(OF_OTHERS, sentence)].some(isHandedOver)

/** The secret was spoken of just before. */
const IT =
  '(?:it|them|this|that|those|these|(?:the|their) (?:answer|reply|value|response|result|same)|what(?:ever)? (?:they|the user) (?:[a-z]{2,20} )?[a-z]{2,20})'
const ASKED = `(?<![a-z0-9_])(?:ask|prompt|request|demand|get|obtain|have|make|let|tell|persuade|urge)(?![a-z0-9_])(?=[^;]{0,40}\\b${PERSON}\\b)[^;]{0,50}?${anyOf(OWN_SECRET, 'keys?')}`
const ASKED_AND_PASSED = new RegExp(
  `${anyOf(ASKED, OWN.source)}${NO_MORE}[^;]{0,60}?(?<= |,)(?<!\\b(?:not|never|dont|without|to) )${HAND_OVER} ${IT}(?![a-z0-9_])`,
  'gu',
)
const isAskedOfUser: Sign = sentence =>
  [...sentence.plain.matchAll(ASKED_AND_PASSED)].some(({ 0: asked, index }) => {
    const isForbidden = NEVER.test(sentence.plain.slice(0, index))
    const end = index + asked.length
    const words = sentence.plain.slice(end, end + AROUND)
    return !isForbidden && isForOtherArgument({ words, isOfAll: false }, sentence)
  })

const NEVER = /\b(?:never|do not|dont|must not|should not)\b.{0,30}$/u

/** How to sign in and set up is what most who speak of keys tell. */
const tellsOfSetup: Sign = says(
  ...['env(?:ironment)? var(?:iable)?', 'headers?', 'settings', 'config(?:uration)?', 'dashboard', '\\.env', 'website'],
  ...['install(?:ing|ation)?', 'sign(?:ing)? (?:up|in)', 'log(?:ging)? ?in', 'oauth', 'authenticat\\w{1,4}'],
  ...['can', 'may'],
  ...['used to', 'how to', 'refuse', 'decline', 'phishing', 'example', 'e\\.g'],
)

/** A key that programs find there is judged by who is to hand it over (`handed-keys.ts`). */
const isOfEnvironment: Sign = says('(?:from|in) (?:the |your |its )?env(?:ironment)?')

const WANTED = { rule: 'secret', family: 'secret', message: 'It has the model pass on secrets.' } as const

/** What asks for secrets in plain words: those of others, or in a place where no honest tool wants its own. */
export const REQUESTED_SECRETS: Subject = {
  needs: /key|token|pass|secret|credential|env|cookie|phrase|words|log-?in|code|\bpin|\bpat|jwt|environ/u,
  concepts: [
    { ...WANTED, strength: 'strong', signs: [isWantedElsewhere(OWN)], unless: [] },
    { ...WANTED, strength: 'strong', signs: [isWantedElsewhere(ALL)], unless: [] },
    { ...WANTED, strength: 'strong', signs: [either(isWantedOfOthers, isWantedElsewhere(OF_OTHERS))], unless: [] },
    { ...WANTED, strength: 'strong', signs: [isWantedByUs(ALL)], unless: [] },
    { ...WANTED, strength: 'strong', signs: [isAskedOfUser], unless: [] },
    { ...WANTED, strength: 'weak', signs: [isWantedElsewhere(UNOWNED)], unless: [isOfEnvironment] },
    { ...WANTED, strength: 'weak', signs: [isWantedByUs(OWN)], unless: [tellsOfSetup] },
    { ...WANTED, strength: 'weak', signs: [isWantedHere], unless: [] },
  ],
}
