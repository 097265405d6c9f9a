import type {
  AgentCheck,
  CapabilityDescriptor,
  MissingDependency,
  ToolDetail,
  ToolSummary,
  UpstreamStatus,
} from '../contracts/index.ts'

/** A tool that works. */
export const READ_FILE: ToolSummary = {
  name: 'read_file',
  title: 'Read a file',
  short: 'Reads a text file.',
  section: 'files',
  capability: 'files',
  source: 'builtin',
  state: 'active',
  recovering: false,
  missing: [],
}

/** Why the weather cannot be told. */
export const FORECAST_DOWN: MissingDependency = {
  dependency: 'forecast',
  state: 'down',
  reason: 'connection refused',
  ageMs: 185_000,
  nextRecheckAt: 1_700_000_020_000,
  fix: 'Start it with `docker compose up forecast`.',
}

/** A tool that does not work. */
export const WEATHER: ToolSummary = {
  ...READ_FILE,
  name: 'weather',
  title: 'Weather',
  short: 'Tells the weather of a city.',
  section: 'world',
  capability: 'weather',
  source: 'project',
  state: 'disabled',
  missing: [FORECAST_DOWN],
}

/** Everything about the tool that works. */
export const READ_FILE_DETAIL: ToolDetail = {
  ...READ_FILE,
  whenToUse: 'When the text of one file is needed.',
  requires: [],
  input: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      offset: { type: 'integer' },
      options: { type: 'object', properties: { raw: { type: 'boolean' } } },
    },
    required: ['path'],
  },
  examples: [{ query: 'Read my notes', input: { path: 'my notes.txt', offset: 10 } }],
  mutates: false,
  idempotent: true,
  retry: 'manual',
  consent: [],
  timeoutMs: 30_000,
  maxResultBytes: 262_144,
  asTask: 'never',
  hash: 'abc',
}

export const FILES: CapabilityDescriptor = {
  key: 'files',
  title: 'Files',
  short: 'Reading and writing in chosen folders.',
  tools: [{ name: 'read_file', title: 'Read a file', short: 'Reads a text file.' }],
  configSchema: { type: 'object', properties: { dirs: { type: 'array' }, label: { type: 'string' } } },
}

/** An agent whose file is right, although not everything works. */
export const CHECK: AgentCheck = {
  name: 'researcher',
  file: 'agents/researcher.json',
  ok: true,
  report: [
    { capability: 'weather', tool: 'weather', state: 'unavailable', reason: 'forecast is down' },
    { capability: 'files', tool: 'read_file', state: 'granted' },
    { capability: 'chat', tool: 'say', state: 'skipped', reason: 'no thread outside a run' },
  ],
  problems: [],
}

/** An upstream that works. */
export const NOTES: UpstreamStatus = {
  name: 'notes',
  transport: 'stdio',
  target: 'npx -y notes@1.0.0',
  state: 'up',
  reason: '',
  since: 1_699_999_880_000,
  era: 'legacy',
  server: { name: 'notes-server', version: '1.0.0' },
  tools: { offered: 3, held: 0 },
  prompts: 1,
  resources: 0,
  connections: 1,
  pids: [4711],
  restarts: 2,
  latency: { calls: 12, p50Ms: 2.34, p99Ms: 41.6 },
}
