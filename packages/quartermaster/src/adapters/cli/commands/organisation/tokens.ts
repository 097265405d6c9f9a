import { Option } from 'commander'
import type { IssuedToken, JoinCodeFacts, TokenFacts } from '../../../../contracts/index.ts'
import { type Answer, controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { abilityOption, durationOf, organisationOption, parentOption } from '../../options.ts'
import { renderTable } from '../../output/layout.ts'
import { escapeLine } from '../../output/terminal.ts'
import { agoText, aheadInWords, MONTH, YEAR } from '../../output/units.ts'

const HOUR_MS = 3_600_000

export const registerTokens = controlCommand({
  name: 'tokens',
  description: 'List the tokens of agents and persons.',
  usage: '[create | revoke | rotate] [options]',
  operation: 'tokens',
  options: [organisationOption()],
  examples: [['quartermaster tokens', 'all of them, without their texts']],
  answer(tokens, { out, host }) {
    if (tokens.length === 0) return { notice: 'No tokens yet. Make one: quartermaster tokens create AGENT\n' }
    const now = host.clock.now()
    const rows = tokens.map(token => {
      const { id, agent = '', person, createdAt, label } = token
      const holder = person === undefined ? agent : `${person} (person)`
      return [id, holder, stateText(token, now), agoText(createdAt, now), label ?? '']
    })
    return { text: renderTable(['Id', 'Holder', 'State', 'Made', { wraps: 'Label' }], rows, out) }
  },
  subcommands: [
    controlCommand({
      name: 'create',
      description: 'Make a token for an agent, or for a person who answers its requests. It is shown once.',
      operation: 'createToken',
      arguments: [['[AGENT]', 'the agent', 'agent', 'agent']],
      options: [
        new Option('--person <NAME>', 'for this person instead: it answers approvals, and calls no tools'),
        new Option('--label <TEXT>', 'what you call it'),
        new Option('--for <TIME>', 'how long it is valid, such as 8h or 90d (default: for ever)').argParser(
          durationOf(YEAR),
        ),
        organisationOption(),
      ],
      examples: [
        ['quartermaster tokens create default', 'a token for the agent "default"'],
        ['quartermaster tokens create default --label laptop --for 8h --json', 'for programs: { "token": … }'],
        ['quartermaster tokens create --person eve', 'for a person who decides about approvals'],
      ],
      input({ for: ttlMs, ...given }) {
        if ((given['agent'] === undefined) === (given['person'] === undefined))
          throw new UsageError('say who it is for: an agent, or --person NAME.')
        return { ...given, ttlMs }
      },
      label: 'Making a token',
      answer: issuedAnswer,
    }),
    controlCommand({
      name: 'revoke',
      description: 'Revoke a token, at once. Its open connections end.',
      operation: 'revokeToken',
      arguments: [['<ID>', 'the token, by its id', 'id']],
      examples: [['quartermaster tokens revoke tok_9fGk', 'it is refused from then on']],
      label: 'Revoking',
      answer: (facts, session) => ({
        text: doneLine(session, `Token ${facts.id} of ${holderText(facts)} is revoked.`),
      }),
    }),
    controlCommand({
      name: 'rotate',
      description: 'Make a successor of a token; the old one stays valid for a while.',
      operation: 'rotateToken',
      arguments: [['<ID>', 'the token, by its id', 'id']],
      options: [
        new Option('--overlap <TIME>', 'how long both are valid').default(HOUR_MS, '1h').argParser(durationOf(YEAR)),
      ],
      examples: [['quartermaster tokens rotate tok_9fGk --overlap 10m', 'ten minutes to hand the new one out']],
      input: ({ id, overlap }) => ({ id, overlapMs: overlap }),
      label: 'Rotating',
      answer: issuedAnswer,
    }),
  ],
})

function issuedAnswer({ token, facts }: IssuedToken): Answer {
  const about = `Token ${facts.id} of ${holderText(facts)}.`
  const next = `It is shown this once; revoke it with: quartermaster tokens revoke ${facts.id}`
  return { json: { token, ...facts }, text: `${token}\n`, notice: `${escapeLine(`${about} ${next}`)}\n` }
}

function holderText({ agent, person }: TokenFacts): string {
  return person === undefined ? `"${agent}"` : `the person "${person}"`
}

function stateText({ state, expiresAt, agentMissing }: TokenFacts, now: number): string {
  if (state !== 'active') return state
  const until = expiresAt === null ? state : `active for ${aheadInWords(expiresAt - now)}`
  return agentMissing ? `${until}, no such agent` : until
}

export const registerJoinCodes = resourceCommands(
  ['join-codes', 'Make codes with which agents from elsewhere join, once each.', 'create | list | revoke [options]'],
  [
    controlCommand({
      name: 'create',
      description: 'Make a code. It is shown once.',
      operation: 'createJoinCode',
      options: [
        new Option('--name <NAME>', 'the name of the workspace (default: the agent that joins chooses)'),
        parentOption(),
        new Option('--role <TEXT>', 'what the workspace is for'),
        abilityOption(),
        new Option('--for <TIME>', 'how long it is valid, such as 2h (default: a day)').argParser(durationOf(MONTH)),
        organisationOption(),
      ],
      examples: [
        ['quartermaster join-codes create --name researcher --for 2h', 'for one agent, with this name'],
        ['quartermaster join-codes create --parent default --json', 'for programs: { "code": … }'],
      ],
      input: ({ ability: abilities, for: ttlMs, ...given }) => ({ ...given, abilities, ttlMs }),
      label: 'Making a code',
      answer: ({ code, facts }, { host }) => {
        const time = aheadInWords(facts.expiresAt - host.clock.now())
        const about = `Join code ${facts.id}, valid for ${time} and one workspace.`
        const next = `It is shown this once; revoke it with: quartermaster join-codes revoke ${facts.id}`
        return { json: { code, ...facts }, text: `${code}\n`, notice: `${escapeLine(`${about} ${next}`)}\n` }
      },
    }),
    controlCommand({
      name: 'list',
      description: 'List all codes, newest first, without their texts.',
      operation: 'joinCodes',
      options: [organisationOption()],
      examples: [['quartermaster join-codes list', 'which are open, and which agents joined']],
      answer(codes, { out, host }) {
        if (codes.length === 0) return { notice: 'No join codes yet. Make one: quartermaster join-codes create\n' }
        const now = host.clock.now()
        const rows = codes.map(code => {
          return [code.id, codeStateText(code, now), code.name ?? '', code.parent.name, code.role]
        })
        return { text: renderTable(['Id', 'State', 'Name', 'Below', { wraps: 'Role' }], rows, out) }
      },
    }),
    controlCommand({
      name: 'revoke',
      description: 'Revoke a code. An agent that joined with it stays.',
      operation: 'revokeJoinCode',
      arguments: [['<ID>', 'the code, by its id', 'id']],
      options: [organisationOption()],
      examples: [['quartermaster join-codes revoke join_5kQw', 'no agent joins with it any more']],
      label: 'Revoking',
      answer: ({ id, state }, session) =>
        state === 'revoked'
          ? { text: doneLine(session, `Join code ${id} is revoked.`) }
          : { notice: `${escapeLine(`Join code ${id} is ${state} already.`)}\n`, code: EXIT.no },
    }),
  ],
)

function codeStateText({ state, expiresAt, usedBy }: JoinCodeFacts, now: number): string {
  if (state === 'open') return `open for ${aheadInWords(expiresAt - now)}`
  return state === 'used' && usedBy !== null ? `used by ${usedBy}` : state
}
