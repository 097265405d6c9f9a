import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Connection, type ConnectOptions, type InteropClient, textOf } from '../client.ts'

const INSPECTOR = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
)

const run = promisify(execFile)

/** The Inspector on the command line: every question to the server is a process of its own. */
export function inspector(era: 'legacy' | 'modern'): InteropClient {
  return {
    name: `the Inspector’s command line, era ${era}`,
    skills: ['structured', 'failures'],
    connect: options => connect(options, era),
  }
}

async function connect({ mcpUrl, token }: ConnectOptions, era: string): Promise<Connection> {
  // It keeps a catalogue at home.
  const home = await mkdtemp(join(tmpdir(), 'inspector-'))
  const ask = async (...args: readonly string[]) => {
    const where = ['--cli', mcpUrl, '--header', `Authorization: Bearer ${token}`, '--protocol-era', era]
    const options = { env: { PATH: process.env.PATH, HOME: home } }
    const { stdout } = await run(process.execPath, [INSPECTOR, ...where, '--format', 'json', '-q', ...args], options)
      // It ends with an error of its own when a tool failed, and has told the answer by then.
      .catch((error: { stdout?: string; stderr?: string }) => {
        if (error.stderr?.includes('"tool_is_error"')) return { stdout: error.stdout ?? '' }
        throw error
      })
    return JSON.parse(stdout).result
  }
  return {
    toolNames: async () =>
      ((await ask('--method', 'tools/list')).tools as readonly { name: string }[]).map(({ name }) => name),
    async call(name, input) {
      const answer = await ask('--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(input))
      return { isError: answer.isError === true, text: textOf(answer.content), structured: answer.structuredContent }
    },
    close: () => rm(home, { recursive: true, force: true }),
  }
}
