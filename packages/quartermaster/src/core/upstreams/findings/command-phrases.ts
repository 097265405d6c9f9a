import { NEGATED } from './negation.ts'
import { anyOf, type Phrase, phrases } from './phrase.ts'

const DESTROY = anyOf('delete', 'remove', 'erase', 'wipe', 'destroy', 'shred')
const EVERYTHING = '(?:all|every|everything|any|the (?:entire|whole))(?: of)?'

const ALL_COMMANDS =
  '(?:all|every|each|any)\\b.{0,20}\\bcommands? (?:must|should|have to|has to|need to|needs to)\\b.{0,20}'
/** What a program is started with. */
const ARGUMENTS =
  ' (?:(?:the|its|optional|given) ){1,2}(?:arguments?|options?|flags?|parameters?)(?: given| provided)?(?=\\n|$)'
/** The name of the program whose commands they are. */
const ONE_WORD =
  ' (?:the )?(?!(?:sudo|sh|bash|eval|chmod|curl|wget)\\b)[\\w-]{1,20}(?: command| prefix)?(?=\\n|$|[,)]| (?:and|or)\\b)'
const NO_PRODUCTION = '(?![^\\n]{0,60}\\bprod(?:uction)?\\b)'
/** That is there to be destroyed, unless something else is named beside it. */
const THROWAWAY = `(?! (?:in|of|from) (?:the |your |this |an? )?(?:staging|test|temp\\w{0,6}|sandbox|scratch|cache)\\b${NO_PRODUCTION})`

/** What has the model run, change or destroy what is none of its business. */
export const COMMAND_PHRASES: readonly Phrase[] = [
  ...phrases({
    rule: 'instruction',
    family: 'override',
    strength: 'strong',
    message: 'It brings a command that harms whoever runs it.',
    unlessAfter:
      /\b(?:never|do not|dont|not|blocks?|blocked|prevents?|refuses?|dangerous|such as|like|e\.g)\b.{0,60}$/u,
    needs: ['curl', 'wget', 'rm -', 'chmod', 'base64'],
    patterns: [
      '\\b(?:curl|wget)\\b[^\\n|]{0,120}\\| ?(?:sudo )?(?:ba|z|da)?sh\\b',
      '\\brm -(?:rf|fr|r -f)(?: --no-preserve-root)? (?:~|/(?: |$|\\n)|\\$home)',
      '\\bchmod (?:-r )?(?:0?777|0?666|a\\+rwx) (?:~|/|\\.)',
      '\\bbase64 (?:-d|--decode)\\b[^\\n|]{0,60}\\| ?(?:ba|z)?sh\\b',
    ],
  }),
  ...phrases({
    rule: 'instruction',
    family: 'override',
    strength: 'strong',
    message: 'It tells the model to destroy what is not its own.',
    unlessAfter: NEGATED,
    needs: ['delet', 'remov', 'eras', 'wip', 'destroy', 'shred'],
    patterns: [
      `\\b${DESTROY} (?:all|every|everything)(?: of)? (?:(?:the|your|their|users?) ){0,2}(?:files|data|folders|documents|contents) (?:in|from|of|on|under|inside) (?:(?:the|your|their|users?|this) ){0,2}(?:home (?:directory|folder)(?! trash)|hard (?:drive|disk))\\b${THROWAWAY}`,
      `\\b(?:after|before|once|when|whenever|while) (?:you (?:have )?)?(?:us(?:e|ed|ing)|call(?:ed|ing)?|r[ua]n(?:ning)?|invok(?:e|ed|ing)) (?:this|it)(?: tool| function)?,? (?:[\\w-]{1,20} ){0,4}?${DESTROY} ${EVERYTHING} (?!(?:[\\w-]{1,20} ){0,3}?(?:temp\\w{0,6}|created|generated|intermediate|cached?|unused|stale|test)\\b${NO_PRODUCTION})(?:[\\w-]{1,20} ){0,3}?(?:files|folders|data|documents|repositor(?:y|ies)|e-?mails|messages|records|tables|databases?|backups|branches)\\b${THROWAWAY}`,
    ],
  }),
  ...phrases({
    rule: 'instruction',
    family: 'override',
    strength: 'strong',
    message: 'It tells the model to change commands that are none of its business.',
    needs: ['command', 'script', 'quer'],
    patterns: [
      `\\b(?:prefix|prepend|precede|append|suffix)\\b.{0,20}\\b(?:every|all|each|any)\\b.{0,20}\\b(?:commands?|scripts?|queries)\\b`,
      '\\bbegin (?:every|all|each|any)\\b.{0,20}\\b(?:commands?|scripts?|queries) (?:with|by)\\b',
      // To start them is what tools do too.
      `\\bstart (?:every|all|each|any)\\b.{0,20}\\b(?:commands?|queries) (?:with|by)\\b(?!${ARGUMENTS})`,
      `\\bstart (?:every|all|each|any)\\b.{0,20}\\bscripts? (?:with|by)\\b(?! (?:the|these|this|given|an?|its|arguments|optional)\\b)`,
      `\\b${ALL_COMMANDS}\\b(?:begin|start|be prefixed|be preceded|end with)\\b(?!(?: with| by)?${ONE_WORD})`,
    ],
  }),
  ...phrases({
    rule: 'instruction',
    family: 'hint',
    strength: 'weak',
    message: 'It tells the model to change commands that are none of its business.',
    needs: ['command'],
    patterns: [`\\b${ALL_COMMANDS}\\b(?:begin|start|be prefixed|be preceded|end with)\\b`],
  }),
]
