import { SWITCHED_OFF } from '../adapters/mcp-upstream/index.ts'
import type { UpstreamConfig, UpstreamStatus } from '../contracts/index.ts'
import { createSecretTexts, targetText } from '../core/kernel/index.ts'
import type { Project } from './project.ts'
import { wrongEntryText } from './stand-in.ts'

type Configured = Pick<Project, 'upstreams' | 'upstreamsLeftOut' | 'upstreamSecrets'>

/** What is known of running upstreams, and of those that only the configuration knows. */
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

/** One that is not there yet. Without its target: which of its texts are secrets is known when they are written. */
export function foreseen(
  name: string,
  config: UpstreamConfig,
  standing: Pick<UpstreamStatus, 'state' | 'reason' | 'since'>,
): UpstreamStatus {
  return { ...BLANK, name, transport: transportOf(config), target: '', ...standing }
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
  const { redact } = createSecretTexts(secrets)
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
