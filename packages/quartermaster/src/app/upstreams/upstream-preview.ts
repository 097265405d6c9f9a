import { loadUpstreamParts, SWITCHED_OFF } from '../../adapters/mcp-upstream/index.ts'
import { ANY_ANSWER, secretsFileIn } from '../../adapters/project-files/index.ts'
import type {
  AddedUpstream,
  ControlInput,
  UpstreamConfig,
  UpstreamStatus,
  WishedUpstream,
} from '../../contracts/index.ts'
import { createSecretRedactor, targetText } from '../../core/secrets/index.ts'
import { type Project, wrongEntryText } from '../project/project.ts'
import { previewGrant, type Recipients } from './upstream-grants.ts'

/** A preview of adding an upstream. */
interface PreviewRequest
  extends Pick<ControlInput<'addUpstream'>, 'name' | 'entry' | 'secrets' | 'missing' | 'replace' | 'consent'> {
  readonly recipients: Recipients
  /** Upstreams that would be added before it, in this order. */
  readonly beside: readonly WishedUpstream[]
  readonly now: number
}

/** The outcome of adding an upstream, in the same form. Writes and starts nothing. */
export async function previewUpstream(
  { name, entry, secrets = {}, missing = [], replace = false, consent, beside, recipients, now }: PreviewRequest,
  project: Pick<Project, 'settings' | 'configEditor' | 'configFile' | 'agentFiles' | 'projectDir' | 'dataDir' | 'env'>,
): Promise<AddedUpstream> {
  const { configEditor, agentFiles, env } = project
  const options = { replace, consent, secrets, missing, beside, env }
  const would = await configEditor.previewUpstream(name, entry, options)
  const { config, masks, problems, released, secrets: kept, missing: unanswered, ...written } = would
  const { problems: ungranted, ...given } = await previewGrant(name, recipients, agentFiles)
  const state = config && (await foreseenState(config, { ...project, masks }))
  return {
    name,
    ...written,
    gatewayViewOver: project.settings.gatewayViewOver,
    ...(project.configFile === undefined && { madeFile: true as const }),
    ...secretsFileOf({ secrets: kept }, project),
    ...(state && { status: foreseen(name, config, { ...state, since: now }) }),
    secrets: [...kept],
    missing: { ...unanswered },
    ...released,
    ...given,
    problems: [...problems, ...ungranted],
  }
}

/** The secrets file, for an upstream with secrets. */
export function secretsFileOf(
  { secrets }: { readonly secrets: readonly string[] },
  { dataDir }: Pick<Project, 'dataDir'>,
): Pick<AddedUpstream, 'secretsFile'> {
  return secrets.length > 0 ? { secretsFile: secretsFileIn(dataDir) } : {}
}

interface Surroundings extends Pick<Project, 'projectDir' | 'dataDir'> {
  readonly masks: readonly string[]
}

/** The state of an entry that cannot be started. The others show theirs when they run. */
async function foreseenState(
  config: UpstreamConfig,
  { projectDir, dataDir, masks }: Surroundings,
): Promise<Pick<UpstreamStatus, 'state' | 'reason'> | undefined> {
  if (!config.enabled) return { state: 'off', reason: SWITCHED_OFF }
  if (!('command' in config)) return undefined
  const { command, env, cwd } = config
  const { foreseenFailure } = await loadUpstreamParts()
  const isOpen = [command, cwd, env['PATH']].some(text => text?.includes(ANY_ANSWER))
  const reason = isOpen ? undefined : await foreseenFailure({ command, env, cwd, projectDir, dataDir })
  return reason === undefined ? undefined : { state: 'down', reason: createSecretRedactor(masks).redact(reason) }
}

type Configured = Pick<Project, 'upstreams' | 'upstreamsLeftOut' | 'upstreamSecrets'>

/** Running upstreams, and those that only the configuration has. */
export function withOutlines(running: readonly UpstreamStatus[], project: Configured, at: number): UpstreamStatus[] {
  const now = Math.round(at)
  const leftOut = project.upstreamsLeftOut()
  const names = new Set([...leftOut.keys(), ...running.map(status => status.name)])
  const idle = [...project.upstreams()].filter(([name]) => !names.has(name))
  return [
    ...running.filter(status => !leftOut.has(status.name)),
    ...idle.map(([name, config]) => configured(name, config, project.upstreamSecrets(), now)),
    ...[...leftOut].map(([name, wrong]): UpstreamStatus => {
      const { transport } = wrong
      return { ...BLANK, name, transport, target: '', state: 'off', reason: wrongEntryText(wrong), since: now }
    }),
  ]
}

/** Without its target: which of its texts are secrets is known only when they are written. */
function foreseen(
  name: string,
  config: UpstreamConfig,
  state: Pick<UpstreamStatus, 'state' | 'reason' | 'since'>,
): UpstreamStatus {
  return { ...BLANK, name, transport: transportOf(config), target: '', ...state }
}

const BLANK = {
  tools: { offered: 0, held: 0 },
  prompts: 0,
  resources: 0,
  connections: 0,
  pids: [],
  restarts: 0,
} satisfies Partial<UpstreamStatus>

function configured(name: string, config: UpstreamConfig, secrets: readonly string[], now: number): UpstreamStatus {
  const { redact } = createSecretRedactor(secrets)
  return {
    ...BLANK,
    name,
    transport: transportOf(config),
    target: targetText(config, redact),
    state: config.enabled ? 'idle' : 'off',
    reason: config.enabled ? 'It is not running here.' : SWITCHED_OFF,
    since: now,
  }
}

function transportOf(config: UpstreamConfig): UpstreamStatus['transport'] {
  return 'url' in config ? 'http' : 'stdio'
}
