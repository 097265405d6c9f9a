import { either, isOfParameter, type Sign, type Subject, says } from './concept.ts'
import { anyOf } from './phrase.ts'
import { describesItself } from './talk-signs.ts'

const OUT_OF = '(?:from|in|of|out of) (?:the |a |your |their )?(?:users? )?(?:local )?'
const BROWSER = anyOf('chrome', 'chromium', 'firefox', 'safari', 'edge', 'brave', 'browser')

/** What a browser keeps of its user. */
const namesBrowserData: Sign = says(
  '(?:users?|their|your|browsers?|saved|stored)(?: [\\w-]{1,20}){0,2}? (?:cookies|passwords|logins)',
  '(?:session|login|auth(?:entication)?) cookies',
)
/** Tools that read pages are given some of it, by whoever wants that. */
const isFromBrowser: Sign = says(`${OUT_OF}${BROWSER}s?`)
/** What a browser keeps for itself. */
const isFromProfile: Sign = either(
  says(`${OUT_OF}${BROWSER}s? (?:profile|user data|data|store|storage|database|password manager)`),
  says('(?:saved|stored)(?: [\\w-]{1,20}){0,2}? (?:passwords|logins)'),
)
/** What opens a wallet. */
const namesSeed: Sign = says(
  `(?:seed|recovery|mnemonic|backup) (?:phrases?|words)(?=.{0,30}\\b${anyOf('wallet', 'account', 'ledger', 'metamask', 'vault', 'user')}s?\\b)`,
  `${anyOf('wallet', 'account', 'ledger', 'metamask')}s? (?:seed|recovery|mnemonic|backup) (?:phrases?|words)`,
)
/** What programs on this machine are told, which no tool elsewhere needs. */
const namesEnvironment: Sign = says(
  `env(?:ironment)? var(?:iable)?s (?:of|on|from) (?:the |this |your )?(?:users? |local |current )?(?:machine|computer|workstation|laptop|shell|terminal)`,
)
/** The file with the settings of a project. One that is an example holds nothing. */
const namesDotenv: Sign = says(
  `(?:full |complete |entire |raw |exact )?(?:contents?|text|lines|copy) (?:of|from) (?:(?:the|any|your|this|a|their|users|projects|workspaces|repositorys|local) ){0,2}(?:[\\w-]{1,20} )?\\.env(?!\\.(?:example|sample|template|dist))(?: files?)?`,
)

const forbids: Sign = says('never', 'do not', 'dont', 'must not', 'should not', 'without', 'masked', 'redacted')

const WANTED = {
  rule: 'secret',
  family: 'secret',
  message: 'It has the model pass on secrets.',
  unless: [describesItself, forbids],
} as const

/** What wants in an argument what its user would keep to themselves. */
export const SECRETS: Subject = {
  needs: /cookie|password|login|phrase|words|env/u,
  concepts: [
    { ...WANTED, strength: 'strong', signs: [isOfParameter, namesBrowserData, isFromBrowser, isFromProfile] },
    { ...WANTED, strength: 'weak', signs: [isOfParameter, namesBrowserData, isFromBrowser] },
    { ...WANTED, strength: 'weak', signs: [isOfParameter, either(namesSeed, namesEnvironment, namesDotenv)] },
  ],
}
