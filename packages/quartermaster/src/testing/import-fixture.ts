import { type CliHost, runCli } from '../adapters/cli/index.ts'
import {
  type AddedUpstream,
  type AgentSummary,
  AppError,
  type Control,
  type ControlInput,
  type ForeignServer,
  type ForeignServers,
  type Problem,
  type ReviewItem,
  type UpstreamStatus,
} from '../contracts/index.ts'
import { NOTES } from './cli-fixtures.ts'
import { type CliHostOptions, createFakeCliHost } from './cli-host.ts'

/** A server of Claude Desktop that can be taken over. */
export const server = (name: string, more: Partial<ForeignServer> = {}): ForeignServer => ({
  name,
  as: name,
  client: 'claude-desktop',
  file: '/home/me/claude_desktop_config.json',
  removal: { file: '/home/me/claude_desktop_config.json', keys: ['mcpServers', name] },
  entry: { command: name },
  secrets: {},
  asks: [],
  notes: [],
  ...more,
})

/** One with a secret, one with a note, one that cannot be taken over, and one of another folder. */
export const FOUND: ForeignServers = {
  places: [
    { client: 'claude-desktop', file: '/home/me/claude_desktop_config.json', found: true },
    { client: 'cursor', file: '/home/me/.cursor/mcp.json', found: true, problem: 'It is not JSON.' },
  ],
  servers: [
    server('git hub', {
      as: 'git-hub',
      secrets: { TOKEN: 'hush' },
      entry: { command: 'gh', env: { TOKEN: '${secret:TOKEN}' } },
    }),
    server('files', { entry: { command: 'npx', args: ['-y', 'files'] }, notes: ['Not taken over: gallery.'] }),
    server('old', { entry: undefined, skipped: 'It uses the older transport "sse".' }),
    server('far', { elsewhere: '/work/other' }),
  ],
}

export interface ImportSituation extends CliHostOptions {
  found?: ForeignServers
  /** Names that another upstream has. */
  taken?: string[]
  broken?: string[]
  /** From this one on the configuration here cannot be read. */
  unreadableFrom?: string
  /** Ctrl-C comes while this one is being added. */
  leftAt?: string
  /** What would become of those that are only looked at. */
  outcomes?: Record<string, AddedUpstream['outcome']>
  problems?: Problem[]
  given?: Pick<AddedUpstream, 'granted' | 'madeAgent' | 'removedSecrets' | 'keptSecrets'> &
    Pick<AddedUpstream, 'madeFile' | 'secretsFile' | 'consent'> &
    Pick<AddedUpstream, 'keptSettings' | 'goneSettings' | 'keptVersions'>
  /** How those would be that are only looked at. */
  wouldBe?: UpstreamStatus
  states?: UpstreamStatus['state'][]
  /** The names that unanswered secrets get. */
  renames?: Record<string, string>
  /** Upstreams that were there before. */
  present?: UpstreamStatus[]
  /** What is in review before anything is imported, and afterwards. */
  reviews?: readonly [before: ReviewItem[], after: ReviewItem[]]
  /** Who has how much in the end. */
  agents?: AgentSummary[]
  /** What npm says. */
  packageVersion?: CliHost['packageVersion']
  /** No person says yes to it. */
  isUnanswered?: boolean
  /** Which of the tools of each ask a person. */
  asks?: UpstreamStatus['asks']
  /** How upstreams are once it was looked at again what they say of each other. */
  judged?: Record<string, Partial<UpstreamStatus>>
}

/** Two of three tools ask, of each server. */
export const ASKS = { now: 2, first: ['drop', 'push'], destructive: 2, changing: 3, all: 3 }

/** Runs `import` with these words, and with --yes where no person is there to be asked, and tells what was asked and seen. */
export async function runImport(
  argv: string[],
  {
    found = FOUND,
    taken = [],
    broken = [],
    unreadableFrom,
    leftAt,
    outcomes = {},
    problems = [],
    given = { granted: ['default'] },
    wouldBe,
    states = ['up'],
    renames = {},
    present = [],
    reviews,
    judged = {},
    agents,
    asks,
    isUnanswered = false,
    packageVersion = async () => '3.0.0',
    ...more
  }: ImportSituation = {},
) {
  const asked: ControlInput<'addUpstream'>[] = []
  const sources: object[] = []
  const chosen: ControlInput<'setUpstreamConsent'>[] = []
  const isYes = more.terminal === undefined && !argv.includes('--dry-run')
  const words = isYes && !isUnanswered ? [...argv, '--yes'] : argv
  let isJudged = false
  let isUnreadable = false
  const control: Partial<Control> = {
    async addUpstream(input) {
      const { name, secrets = {}, dryRun } = input
      const isLookAhead = dryRun && !argv.includes('--dry-run')
      if (!isLookAhead) asked.push(input)
      if (taken.includes(name)) throw new AppError('NAME_TAKEN', `There is another upstream "${name}".`)
      if (name === leftAt && !isLookAhead) interrupt()
      isUnreadable ||= name === unreadableFrom && !isLookAhead
      if (isUnreadable) throw new AppError('CONFIG_INVALID', 'The configuration has a problem.')
      if (broken.includes(name)) throw new AppError('INPUT_INVALID', `"${name}" would not be right.`)
      const about = { name, file: 'c.json', ...given, secrets: Object.keys(secrets), problems }
      if (dryRun) return { ...about, outcome: outcomes[name] ?? 'added', ...(wouldBe && { status: wouldBe }) }
      const status: UpstreamStatus = { ...NOTES, name, state: 'starting' }
      return { ...about, outcome: 'added', status, missing: renames, ...(asks && { consent: input.consent }) }
    },
    upstreams: async () => {
      const added = asked.map(({ name }) => ({ ...NOTES, name, asks, state: states[0] ?? 'up' }))
      return [...present, ...added].map(one => (isJudged ? { ...one, ...judged[one.name] } : one))
    },
    setUpstreamConsent: async input => {
      chosen.push(input)
      return input.names.map(name => ({ ...NOTES, name, asks: { ...ASKS, now: 3, first: ['a', 'b', 'c'] } }))
    },
    ...(agents && { agents: async () => agents }),
    ...(reviews && {
      reviewItems: async () => {
        isJudged = asked.length > 0
        return reviews[isJudged ? 1 : 0]
      },
    }),
  }
  const clientConfigs = async (options: object) => (sources.push(options), found)
  const { host, seen, interrupt } = createFakeCliHost({
    control,
    ...more,
    host: { clientConfigs, packageVersion },
  })
  return { code: await runCli(['import', ...words], host), asked, sources, chosen, ...seen }
}
