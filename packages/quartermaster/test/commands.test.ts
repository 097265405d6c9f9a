import { expect, it } from 'vitest'
import { cliReference } from '../src/adapters/cli/index.ts'
import { type Finished, makeProject, runProcess, startUp } from './support/product.ts'

// Most tests ask an `up` from their own process. Here every command is the built program, as users have it.

/** Those that other tests drive as programs, because no `up` runs there or because nothing but themselves answers them. */
const ELSEWHERE = {
  up: 'up.test.ts',
  connect: 'connect.test.ts',
  join: 'elsewhere.test.ts',
  add: 'upstream-commands.test.ts',
  import: 'upstream-commands.test.ts',
  call: 'upstream-commands.test.ts',
  upstreams: 'upstreams.findings.test.ts',
  tokens: 'absent-agents.test.ts',
  status: 'up.test.ts',
  login: 'upstream-login.test.ts',
  store: 'store-move.test.ts',
  doctor: 'doctor.test.ts',
}

const HERE: readonly (readonly string[])[] = [
  ['init', 'fresh'],
  ['remove', 'spare'],
  ['tools'],
  ['capabilities'],
  ['agents'],
  ['grant', 'default', 'files'],
  ['organisations', 'create', 'acme'],
  ['workspaces', 'create', 'scout'],
  ['peers', 'list'],
  ['join-codes', 'create'],
  ['persons', 'list'],
  ['memory', 'list'],
  ['delegations', 'list'],
  ['do', 'list-files', '.'],
  ['recheck', 'list_files'],
  ['reload'],
  ['operations', 'list'],
  ['approvals', 'list'],
  ['grants', 'list'],
  ['logs'],
  ['logout', 'tracker'],
  ['docs', 'check'],
  ['prompt', 'default'],
  ['completion', 'bash'],
]
/** As many as the machines that run this have cores, and one that waits. */
const SIDE_BY_SIDE = 3

it('has a test that runs it as a program, every command', () => {
  const commands = [...cliReference().matchAll(/^## quartermaster ([\w-]+)$/gm)].map(([, name]) => name)
  const tested = [...HERE.map(([name]) => name), ...Object.keys(ELSEWHERE)]
  expect(tested.toSorted()).toEqual(commands.toSorted())
})

it('does what it is asked as a program of its own, where an up answers', async () => {
  // No up runs, and no command checks before it is needed.
  const tracker = { url: 'http://127.0.0.1:9/mcp', start: 'lazy' }
  const cwd = await makeProject({
    'quartermaster.config.json': JSON.stringify({ mcpServers: { tracker, spare: tracker } }),
    'agents/default.json': JSON.stringify({ capabilities: { files: { dirs: ['.'] } } }),
  })
  const { stop } = await startUp(cwd)
  const finish = async (args: readonly string[]) => [args, await runProcess(withJson(args), { cwd })] as const
  const left = [...HERE]
  await Promise.all(
    Array.from({ length: SIDE_BY_SIDE }, async () => {
      for (let args = left.shift(); args; args = left.shift()) expectDone(...(await finish(args)))
    }),
  )
  expect(await stop()).toBe(0)
})

function withJson(args: readonly string[]): readonly string[] {
  return args[0] === 'completion' ? args : [...args, '--json']
}

function expectDone(args: readonly string[], { code, stdout, stderr }: Finished): void {
  // A script for a shell is no JSON.
  const isShown = args[0] === 'completion' ? /complete/ : /^[[{].*[\]}]\n$/
  expect({ args, code, stdout, stderr }).toEqual({ args, code: 0, stdout: expect.stringMatching(isShown), stderr })
}
