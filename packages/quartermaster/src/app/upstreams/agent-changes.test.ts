import { expect, it } from 'vitest'
import type { UpstreamAuth, Upstreams } from '../../adapters/mcp-upstream/index.ts'
import { silentLog } from '../../adapters/system/index.ts'
import type { Agents } from '../../core/agents/index.ts'
import { createAgentLogins, createWithdrawnUpstreams } from './agent-changes.ts'

it('reconnects for an agent with a login that comes or goes, and again next time if that failed', async () => {
  const changed: unknown[] = []
  let isAway = false
  const upstreams = {
    statuses: () => [
      { name: 'crm', transport: 'http' },
      { name: 'files', transport: 'stdio' },
    ],
    async loginChanged(owner: unknown) {
      if (isAway) throw new Error('The store is busy.')
      changed.push(owner)
    },
  } as unknown as Upstreams
  const auth = async () => ({ agentsAt: async () => ['ada', 'bob'] }) as unknown as UpstreamAuth
  const read = createAgentLogins({ auth, upstreams, log: silentLog })
  for (const names of [
    ['ada', 'bob'],
    ['ada', 'bob', 'cy'],
    ['ada', 'bob'],
  ])
    await read(names)
  expect(changed).toEqual([])
  await read(['bob'])
  expect(changed).toEqual([{ upstream: 'crm', agent: 'ada' }])
  isAway = true
  await Promise.all([read([]), read(['ada'])])
  isAway = false
  await read(['ada'])
  expect(changed.slice(1)).toEqual(expect.arrayContaining([{ upstream: 'crm', agent: 'bob' }]))
  const count = changed.length
  await read(['ada'])
  expect(changed).toHaveLength(count)
})

it('dismisses what an agent has lost, and nothing because of a file that cannot be read', () => {
  const dismissed: string[] = []
  let files: Record<string, string[] | 'broken'> = {}
  const configOf = (file: string[] | 'broken' = []) =>
    file === 'broken' ? undefined : { capabilities: Object.fromEntries(file.map(key => [key, {}])) }
  const withdrawn = createWithdrawnUpstreams({
    agents: { entry: (name: string) => ({ config: configOf(files[name]) }) } as unknown as Agents,
    upstreams: {
      dismiss: (agent: string, upstream?: string) => void dismissed.push(`${agent} at ${upstream ?? 'all'}`),
    } as unknown as Upstreams,
  })
  const read = (next: typeof files) => {
    files = next
    withdrawn(Object.keys(next))
    return dismissed.splice(0)
  }
  expect(read({ ada: ['crm', 'mail'], bob: ['crm'] })).toEqual([])
  expect(read({ ada: ['mail', 'more'], bob: ['crm'] })).toEqual(['ada at crm'])
  expect(read({ ada: 'broken', bob: ['crm'] })).toEqual([])
  expect(read({ ada: ['mail'], bob: ['crm'] })).toEqual(['ada at more'])
  expect(read({ ada: ['mail'] })).toEqual(['bob at all'])
})
