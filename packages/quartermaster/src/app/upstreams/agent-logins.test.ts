import { expect, it } from 'vitest'
import { silentLog } from '../../adapters/system/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { type AgentLoginsDeps, createAgentLogins } from './agent-changes.ts'

/** These have signed in at an upstream by HTTP; a program is there, too. */
function stage(signedIn: readonly string[]) {
  const told: unknown[] = []
  const statuses = [
    { name: 'desk', transport: 'http' },
    { name: 'files', transport: 'stdio' },
  ]
  const upstreams = {
    statuses: () => statuses,
    loginChanged: async (owner: unknown) => void told.push(owner),
  }
  const auth = async () => ({ agentsAt: async (name: string) => (name === 'desk' ? [...signedIn] : ['nobody']) })
  const deps = { auth, upstreams, log: silentLog } as unknown as AgentLoginsDeps
  return { told, upstreams, read: createAgentLogins(deps) }
}

it('connects anew for an agent with a login when it is removed, and when it is there again', async () => {
  const { told, read } = stage(['ada', 'bob'])
  await read(['ada', 'bob', 'cy'])
  expect(told).toEqual([])
  await read(['bob'])
  expect(told).toEqual([{ upstream: 'desk', agent: 'ada' }])
  await read(['ada', 'bob'])
  expect(told).toHaveLength(2)
})

it('tells next time whoever could not be told', async () => {
  const { told, upstreams, read } = stage(['ada'])
  await read(['ada'])
  const { loginChanged } = upstreams
  upstreams.loginChanged = async () => {
    throw new Error('The store is busy.')
  }
  await read([])
  upstreams.loginChanged = loginChanged
  for (const _time of [1, 2]) await read([])
  expect(told).toEqual([{ upstream: 'desk', agent: 'ada' }])
})

it('leaves everything as it is when others come and go, or nobody does', async () => {
  const { told, read } = stage(['ada'])
  for (const names of [['ada'], ['ada', 'bob'], ['ada'], ['ada']]) await read(names)
  expect(told).toEqual([])
})

it('tells next time also of those who could not be told while the next change was being read', async () => {
  const { told, upstreams, read } = stage(['ada', 'bob'])
  await read(['ada', 'bob'])
  const { loginChanged } = upstreams
  const isTried = deferred()
  const answers = [deferred(), deferred()]
  let tries = 0
  upstreams.loginChanged = async owner => {
    isTried.resolve()
    await answers[tries++]?.promise
    return loginChanged(owner)
  }
  const [first, second] = [read(['bob']), read([])]
  await isTried.promise
  answers[0]?.reject(new Error('The store is busy.'))
  await first
  answers[1]?.resolve()
  await second
  await read([])
  expect(told).toContainEqual({ upstream: 'desk', agent: 'ada' })
  expect(told).toContainEqual({ upstream: 'desk', agent: 'bob' })
})
