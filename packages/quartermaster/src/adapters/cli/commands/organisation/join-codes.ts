import { Option } from 'commander'
import type { JoinCodeFacts } from '../../../../contracts/index.ts'
import { controlCommand, doneLine, resourceCommands } from '../../command.ts'
import { EXIT } from '../../errors.ts'
import { abilityOption, durationOf, organisationOption, parentOption } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { aheadInWords, MONTH } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerJoinCodes = resourceCommands(
  [
    'join-codes',
    'Make codes with which agents from elsewhere take a place, once each.',
    'create | list | revoke [options]',
  ],
  [
    controlCommand({
      name: 'create',
      description: 'Make a code. It is shown once.',
      operation: 'createJoinCode',
      options: [
        new Option('--name <NAME>', 'what the workspace will be called; without it the agent that joins chooses'),
        parentOption(),
        new Option('--role <TEXT>', 'what it is there for'),
        abilityOption(),
        new Option('--for <TIME>', 'how long it is good, such as 2h; a day without').argParser(durationOf(MONTH)),
        organisationOption(),
      ],
      keys: { ability: 'abilities', for: 'ttlMs' },
      examples: [
        ['quartermaster join-codes create --name researcher --for 2h', 'for one agent that is called so'],
        ['quartermaster join-codes create --parent default --json', 'for programs: { "code": … }'],
      ],
      label: 'Making a code',
      answer: ({ code, facts }, { host }) => {
        const about = `Join code ${facts.id}, good for ${aheadInWords(facts.expiresAt - host.clock.now())} and one workspace.`
        const next = `It is shown this once; take it back with: quartermaster join-codes revoke ${facts.id}`
        return { json: { code, ...facts }, text: `${code}\n`, notice: `${escapeLine(`${about} ${next}`)}\n` }
      },
    }),
    controlCommand({
      name: 'list',
      description: 'List all codes, newest first, without their texts.',
      operation: 'joinCodes',
      options: [organisationOption()],
      examples: [['quartermaster join-codes list', 'which are open, and who has joined']],
      answer: (found, session) =>
        found.length === 0
          ? { notice: 'No join codes yet. Make one: quartermaster join-codes create\n' }
          : { text: codesText(found, session) },
    }),
    controlCommand({
      name: 'revoke',
      description: 'Revoke a code. An agent that has joined with it stays.',
      operation: 'revokeJoinCode',
      arguments: [['<ID>', 'the code, by its id', 'id']],
      options: [organisationOption()],
      examples: [['quartermaster join-codes revoke join_5kQw', 'no agent joins with it any more']],
      label: 'Revoking',
      answer: ({ id, state }, session) =>
        state === 'revoked'
          ? { text: doneLine(session, `Join code ${id} is taken back.`) }
          : { notice: `${escapeLine(`Join code ${id} is ${state} already.`)}\n`, code: EXIT.no },
    }),
  ],
)

function codesText(codes: readonly JoinCodeFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'State' },
    { title: 'Name' },
    { title: 'Below' },
    { title: 'Role', flexible: true },
  ]
  const rows = codes.map(code => ({
    cells: [code.id, stateText(code, now), code.name ?? '', code.parent.name, code.role],
  }))
  return renderTable({ columns, rows }, out)
}

function stateText({ state, expiresAt, usedBy }: JoinCodeFacts, now: number): string {
  if (state === 'open') return `open for ${aheadInWords(expiresAt - now)}`
  return state === 'used' && usedBy !== null ? `used by ${usedBy}` : state
}
