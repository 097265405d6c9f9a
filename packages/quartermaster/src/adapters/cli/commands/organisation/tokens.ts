import { type Command, Option } from 'commander'
import type { IssuedToken, JoinCodeFacts, TokenFacts } from '../../../../contracts/index.ts'
import { addExamples, controlCommand, doneLine, type Register, refuseUnknown, resourceCommands } from '../../command.ts'
import { CompletingArgument } from '../../completion/command-line.ts'
import { EXIT, UsageError } from '../../errors.ts'
import { abilityOption, defined, durationOf, organisationOption, parentOption, type Within } from '../../options.ts'
import { escapeLine } from '../../output/escape.ts'
import { renderTable } from '../../output/layout.ts'
import { aheadInWords, inWords, MONTH, YEAR } from '../../output/units.ts'
import type { Session } from '../../session.ts'

export const registerTokens: Register = (program, act) => {
  const tokens = program
    .command('tokens')
    .description('List the tokens of agents and persons.')
    .usage('[create | revoke | rotate] [options]')
    .addOption(organisationOption())
    // Otherwise a mistyped subcommand would be told to be "too many arguments".
    .allowExcessArguments()
    .action((within: Within, command: Command) => act(session => list(session, within, command.args)))
  addExamples(tokens, [['quartermaster tokens', 'all of them, without their texts']])
  registerCreate(tokens, act)
  registerRevoke(tokens, act)
  registerRotate(tokens, act)
}

const registerCreate: Register = (tokens, act) => {
  const create = tokens
    .command('create')
    .description('Make a token for an agent, or for a person who answers its requests. It is shown once.')
    .addArgument(new CompletingArgument('[AGENT]', 'the agent', 'agent'))
    .option('--person <NAME>', 'for this person instead: it answers approvals, and calls no tools')
    .option('--label <TEXT>', 'what you call it')
    .addOption(
      new Option('--for <TIME>', 'how long it is good, such as 8h or 90d; for ever without').argParser(
        durationOf(YEAR),
      ),
    )
    .addOption(organisationOption())
    .action((agent: string | undefined, _: object, command: Command) =>
      act(session => {
        const { person, label, for: ttlMs, organisation } = command.optsWithGlobals<CreateOptions>()
        if ((agent === undefined) === (person === undefined))
          throw new UsageError('say whose it is: an agent, or --person NAME.')
        const request = defined({ organisation, agent, person, label, ttlMs })
        return issue(session, 'Making a token', control => control.createToken(request))
      }),
    )
  addExamples(create, [
    ['quartermaster tokens create default', 'a token for the agent "default"'],
    ['quartermaster tokens create default --label laptop --for 8h --json', 'for programs: { "token": … }'],
    ['quartermaster tokens create --person eve', 'for a person who decides about approvals'],
  ])
}

interface CreateOptions extends Within {
  person?: string
  label?: string
  for?: number
}

const registerRevoke: Register = (tokens, act) => {
  const revoke = tokens
    .command('revoke')
    .description('Take a token back, at once. What it has open ends.')
    .argument('<ID>', 'the token, by its id')
    .action((id: string) => act(session => revokeToken(session, id)))
  addExamples(revoke, [['quartermaster tokens revoke tok_9fGk', 'it is refused from then on']])
}

const registerRotate: Register = (tokens, act) => {
  const rotate = tokens
    .command('rotate')
    .description('Make a successor of a token; the old one stays good for a while.')
    .argument('<ID>', 'the token, by its id')
    .addOption(
      new Option('--overlap <TIME>', 'how long both are good').default(HOUR_MS, '1h').argParser(durationOf(YEAR)),
    )
    .action((id: string, { overlap }: { overlap: number }) =>
      act(session => issue(session, 'Rotating', control => control.rotateToken({ id, overlapMs: overlap }))),
    )
  addExamples(rotate, [['quartermaster tokens rotate tok_9fGk --overlap 10m', 'ten minutes to hand the new one out']])
}

const HOUR_MS = 3_600_000

type Control = Parameters<Parameters<Session['connect']>[0]>[0]

async function issue(session: Session, what: string, run: (control: Control) => Promise<IssuedToken>): Promise<number> {
  const issued = await session.connect(control => session.attend(what, () => run(control)))
  if (session.json) await session.printJson({ token: issued.token, ...issued.facts })
  else {
    await session.out.write(`${issued.token}\n`)
    const { id } = issued.facts
    await session.notices.write(
      escapeLine(
        `Token ${id} of ${whose(issued.facts)}. It is shown this once; take it back with: quartermaster tokens revoke ${id}`,
      ) + '\n',
    )
  }
  return EXIT.done
}

async function list(session: Session, within: Within, words: readonly string[]): Promise<number> {
  refuseUnknown('tokens', words, ['create', 'revoke', 'rotate'])
  const tokens = await session.connect(control =>
    session.attend('Looking', options => control.tokens(defined({ ...within }), options)),
  )
  if (session.json) await session.printJson(tokens)
  else if (tokens.length > 0) await session.out.write(listText(tokens, session))
  else await session.notices.write('No tokens yet. Make one: quartermaster tokens create AGENT\n')
  return EXIT.done
}

function listText(tokens: readonly TokenFacts[], { out, host }: Session): string {
  const now = host.clock.now()
  const columns = [
    { title: 'Id' },
    { title: 'Whose' },
    { title: 'State' },
    { title: 'Made' },
    { title: 'Label', flexible: true },
  ]
  const rows = tokens.map(token => {
    const { id, createdAt, label } = token
    return {
      cells: [
        id,
        holderText(token),
        stateText(token, now),
        `${inWords(Math.max(0, now - createdAt))} ago`,
        label ?? '',
      ],
    }
  })
  return renderTable({ columns, rows }, out)
}

function holderText({ agent, person }: TokenFacts): string {
  return person === undefined ? (agent ?? '') : `${person} (person)`
}

function whose({ agent, person }: TokenFacts): string {
  return person === undefined ? `"${agent}"` : `the person "${person}"`
}

function stateText({ state, expiresAt, agentMissing }: TokenFacts, now: number): string {
  if (state !== 'active') return state
  const until = expiresAt === null ? state : `active for ${aheadInWords(expiresAt - now)}`
  return agentMissing ? `${until}, no such agent` : until
}

async function revokeToken(session: Session, id: string): Promise<number> {
  const facts = await session.connect(control =>
    session.attend('Revoking', options => control.revokeToken({ id }, options)),
  )
  if (session.json) await session.printJson(facts)
  else
    await session.out.write(
      `${session.out.paint.green('✓')} ${escapeLine(`Token ${facts.id} of ${whose(facts)} is taken back.`)}\n`,
    )
  return EXIT.done
}

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
    cells: [code.id, codeStateText(code, now), code.name ?? '', code.parent.name, code.role],
  }))
  return renderTable({ columns, rows }, out)
}

function codeStateText({ state, expiresAt, usedBy }: JoinCodeFacts, now: number): string {
  if (state === 'open') return `open for ${aheadInWords(expiresAt - now)}`
  return state === 'used' && usedBy !== null ? `used by ${usedBy}` : state
}
