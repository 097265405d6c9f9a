import { anyOf, type Phrase, phrases } from './phrase.ts'

/** That of a mailbox. */
export const ADDRESS =
  '\\w[\\w.+-]{0,60}@(?!example|(?:your)?(?:domain|company)\\.(?:com|org)(?![\\w.-]))[\\w-]{1,60}\\.\\w'

const NOT_FOR_EXAMPLE = /\b(?:never|do not|dont|e\.g|for example|example|such as)\b.{0,60}$/u

/** Where money or mail goes. */
const RECIPIENT = anyOf('recipients?', 'receivers?', 'destination', 'beneficiary', 'payee')
/** One that the text fixes, whoever the user meant. */
const FIXED =
  anyOf('0x[0-9a-f]{40}\\b', '[a-z]{2}\\d{2}[a-z0-9]{10,30}\\b', '\\+\\d{8,15}\\b', ADDRESS) +
  '(?![\\w.-]{0,60} (?:format|style|form|notation|syntax)\\b)'
/** What is meant for somebody else. */
const MAIL = anyOf('e-?mails?', 'mails?', 'messages?', 'replies', 'drafts?', 'letters?', 'conversations?')
/** "Emails it to": what is mailed stands behind, so a mail is no verb in "list mails to". */
const MAILS =
  '\\b(?:e-?mail|mail|bcc)s? (?:it|them|this|that|these|those|the|a|an|your|what|every|each|all|any|everything)\\b'
/** Whoever is written to with these is no stranger. What is written stands before "to", and only there it excuses anything. */
const NO_REPORT =
  '(?!(?:(?!\\bto\\b).){0,60}\\b(?:feedback|bugs?|issues?|questions?|inquiries|complaints?|support|suggestions)\\b)'
/** Of whoever made it, for those who have something to tell them. */
const TO_ITS_MAKER =
  /\b(?:(?:feedback|bugs?|issues?|questions?|inquiries|complaints?|requests?|reports?|suggestions)(?: (?:about|for|of|on|with|and|or) [\w-]{1,20}){0,2} $|(?:never|do not|dont|not|e\.g|example|such as)\b.{0,60}$)/u

const AWAY = {
  rule: 'secret',
  family: 'send',
  strength: 'strong',
  message: 'It has the model send something to a place that the user did not name.',
} as const

/** What has the model send things where the user did not want them. */
export const SEND_PHRASES: readonly Phrase[] = [
  ...phrases({
    ...AWAY,
    unlessAfter: NOT_FOR_EXAMPLE,
    needs: ['https?:', '@', 'account', 'iban', 'wallet', '0x', '\\d{6}'],
    patterns: [
      `\\b(?:send|post|upload|forward|transmit|exfiltrate|submit|report|deliver)\\b.{0,80}\\bto\\b.{0,20}https?://(?!(?:127|10|192\\.168|0)\\.)\\d{1,3}\\.\\d{1,3}\\.`,
      `\\b(?:all|every|any|each)\\b.{0,30}\\b${anyOf('e-?mails?', 'messages?', 'mails?', 'payments?', 'transfers?', 'transactions?', 'invoices?', 'data', 'requests?')}\\b.{0,40}\\b(?:must|should|shall|have to|has to|need to|needs to|are to|will)\\b.{0,20}\\b(?:sent|forwarded|redirected|routed|copied|go|addressed|transferred|paid|uploaded|posted)\\b.{0,20}\\bto\\b.{0,40}(?:\\w@\\w|https?:|\\baccount\\b|\\b0x)`,
      `\\b(?:set|change|replace|swap|substitute|switch|modify|alter|overwrite|redirect)\\b.{0,40}\\b(?:recipients?|destination|address|beneficiary|payee|account|iban|wallet|phone number|it|them)\\b.{0,30}\\b(?:to|with|for|by)\\b.{0,30}(?:\\b0x[0-9a-f]{16}|\\b[a-z]{2}\\d{2}[a-z0-9]{10}|\\baccount \\w{0,30}\\d|\\+\\d{8}|\\w@(?!example)[\\w-]{1,30}\\.)`,
      `\\b(?:recipients?|destination|beneficiary|payee|account|iban|wallet|(?:phone )?number|address)\\b.{0,20}\\b(?:must|should|has to|have to|is to|needs? to) (?:always |first |silently )?be (?:set|changed|replaced|swapped|switched|redirected|modified|altered|overwritten)\\b.{0,20}\\b(?:to|with|by)\\b.{0,30}(?:\\b0x[0-9a-f]{16}|\\b[a-z]{2}\\d{2}[a-z0-9]{10}|\\+\\d{8}|\\w@(?!example)[\\w-]{1,30}\\.)`,
      `\\b(?:always|whenever|every|each|must|also|all)\\b.{0,80}(?:\\b(?:bcc|blind copy|blind carbon copy)\\b.{0,60}\\w@(?!example)\\w|\\w@(?!example)[\\w.-]{1,60}.{0,40}\\b(?:bcc|blind copy|blind carbon copy)\\b)`,
      `(?:\\bbcc\\b.{0,20}${ADDRESS}|${ADDRESS}[\\w.-]{0,60}.{0,20}\\b(?:bcc|blind copy|blind carbon copy)\\b).{0,20}\\b(?:of|on|in|to|for|with) (?:every|each|all|any)\\b`,
      `\\bbcc (?:every|each|all|any)\\b.{0,40}\\bto\\b.{0,20}${ADDRESS}`,
      `\\b(?:send|forward|mail|e-?mail|copy|deliver|post)\\b${NO_REPORT}.{0,20}\\b(?:every|each|all)\\b(?: [\\w-]{1,20}){0,3}? ${MAIL}\\b.{0,30}\\bto\\b.{0,20}${ADDRESS}`,
      `\\b(?:use|take|pay|enter|put|insert)\\b.{0,20}\\b(?:account|iban|wallet)\\b.{0,20}\\b(?:[a-z]{2}\\d{2}[a-z0-9]{11,30}|0x[0-9a-f]{40,64})\\b.{0,20}\\binstead\\b`,
      `\\b(?:transfer|send|pay|move|deposit)\\b.{0,40}\\bto\\b.{0,30}\\b0x[0-9a-f]{40}\\b`,
      `\\b(?:use|set|put|enter|take|insert|specify|give)\\b.{0,20}(?<![\\w@])${FIXED}.{0,20}\\bas (?:the |its |their )?(?:[\\w-]{1,20} )?${RECIPIENT}\\b`,
      `\\b${RECIPIENT}(?: (?:field|argument|parameter|address))?(?: [\\w-]{1,20}){0,2}? (?:must|should|has to|have to|needs? to|is to|is always)(?: always)?(?: be)?(?: set to)? ?(?<![\\w@])${FIXED}`,
      `\\b(?:requires?|needs?|wants)\\b.{0,20}\\b${RECIPIENT}(?: (?:field|argument|parameter|address))? to be(?: set to)? (?<![\\w@])${FIXED}`,
    ],
  }),
  ...phrases({
    ...AWAY,
    unlessAfter: TO_ITS_MAKER,
    needs: ['@'],
    patterns: [
      `\\b(?:must|shall|have to|has to|needs? to)(?: always| only| also| first| all){0,2} be (?:sent|forwarded|redirected|routed|copied|addressed|delivered|uploaded|posted|transferred|transmitted|mailed)(?: [\\w-]{1,20}){0,2}? to\\b.{0,20}${ADDRESS}`,
    ],
  }),
  ...phrases({
    rule: 'secret',
    family: 'send',
    strength: 'weak',
    message: 'It has the model send something away.',
    unlessAfter: NOT_FOR_EXAMPLE,
    needs: ['https?:', '@', 'credentials', 'passwords', 'keys'],
    patterns: [
      `\\b(?:send|post|upload|forward|transmit|submit|report|deliver|copy)\\b.{0,80}\\bto\\b.{0,20}(?:https?://(?!(?:localhost|127\\.))|${ADDRESS})`,
      `${MAILS}${NO_REPORT}.{0,80}\\bto\\b(?:(?!\\bfrom\\b).){0,20}${ADDRESS}`,
      `\\bcc\\b.{0,20}${ADDRESS}.{0,80}\\b(?:of|on|in|to|for|with) (?:every|each|all|any)\\b`,
      `\\b(?:send|forward|upload|transmit|post)\\b.{0,20}\\b(?:credentials|passwords|api keys|private keys)\\b.{0,20}\\bto\\b`,
    ],
  }),
]
