import { createProcessIo, runCli } from '../adapters/cli/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import { AppError, type Control } from '../contracts/index.ts'
import { FILES, READ_FILE, READ_FILE_DETAIL, WEATHER } from './cli-fixtures.ts'
import { fakeControl, STATUS_REPORT } from './fake-control.ts'

// A whole program over a `Control` in memory, for tests that need a real process, real pipes and a real shell.

const MANY = 5_000
const QUESTION = { tool: 'ask', digest: 'd', operations: [{ name: 'echo.say', reason: 'Says it.', weight: 'low' }] }

const control: Control = fakeControl({
  tools: async () => [
    READ_FILE,
    { ...WEATHER, command: { name: 'weather' } },
    ...Array.from({ length: MANY }, (_, i) => ({ ...READ_FILE, name: `many_${i}` })),
  ],
  tool: async ({ name }) =>
    name === 'weather'
      ? { ...READ_FILE_DETAIL, name, command: { name }, input: { properties: { at: { enum: ['now', 'next week'] } } } }
      : READ_FILE_DETAIL,
  agents: async () => [{ name: 'researcher', capabilities: [], granted: 0, unavailable: 0, problems: [] }],
  capabilities: async () => [FILES],
  status: async () => ({
    ...STATUS_REPORT,
    dependencies: [{ name: 'forecast', state: 'down', reason: 'no answer', since: 0, dependsOn: [] }],
  }),
  call: ({ tool, input, consented }, { signal } = {}) =>
    new Promise((resolve, reject) => {
      if (tool === 'ask' && !consented)
        return reject(new AppError('CONSENT_REQUIRED', 'Not yet.', { details: QUESTION }))
      if (tool !== 'hang')
        return resolve({ operationId: 'op1', result: { content: [{ type: 'text', text: JSON.stringify(input) }] } })
      const alive = setInterval(() => {}, 1_000)
      process.stderr.write('called\n')
      signal?.addEventListener('abort', () => {
        clearInterval(alive)
        process.stderr.write('aborted\n')
        reject(new Error('aborted'))
      })
    }),
})

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())

void runCli(process.argv.slice(2), {
  version: '1.2.3',
  cwd: process.cwd(),
  signal: stop.signal,
  clock: createSystemClock(),
  io: createProcessIo({
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    env: process.env,
    interrupt: () => stop.abort(),
  }),
  openControl: async () => ({ control, from: 'process', close: async () => {} }),
  openPersonControl: () => Promise.reject(new Error('There is no server here.')),
  openAgentControl: () => Promise.reject(new Error('There is no server here.')),
  up: () => Promise.reject(new Error('There is no server here.')),
  connect: () => Promise.reject(new Error('There is no bridge here.')),
  connectCommand: () => Promise.reject(new Error('There is no bridge here.')),
  connectElsewhere: () => Promise.reject(new Error('There is no bridge here.')),
  elsewhereCommand: () => Promise.reject(new Error('There is no bridge here.')),
  join: () => Promise.reject(new Error('There is no bridge here.')),
  checkElsewhere: () => Promise.reject(new Error('There is no bridge here.')),
  clientConfigs: () => Promise.reject(new Error('There are no other clients here.')),
  importApi: () => Promise.reject(new Error('There is no project here.')),
  packageVersion: () => Promise.reject(new Error('There is no npm here.')),
  openBrowser: async () => false,
  moveStore: () => Promise.reject(new Error('There is no store here.')),
  init: () => Promise.reject(new Error('There is no project here.')),
}).then(code => {
  process.exitCode = code
})
