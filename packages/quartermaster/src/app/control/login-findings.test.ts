import { expect, it } from 'vitest'
import { UpstreamConfig } from '../../contracts/index.ts'
import { type LoginFindingsDeps, loginFindings } from './doctor.ts'

it('names each login whose agent is gone, and how to be rid of it', async () => {
  const upstreams = new Map([
    ['desk', UpstreamConfig.parse({ url: 'https://desk.example/mcp' })],
    ['files', UpstreamConfig.parse({ command: 'files' })],
  ])
  const deps: LoginFindingsDeps = {
    project: { upstreams: () => upstreams } as LoginFindingsDeps['project'],
    core: { agents: { has: name => name === 'bob' } },
    upstreamAuth: async () => ({ agentsAt: async name => (name === 'desk' ? ['ada', 'bob'] : ['nobody']) }),
  }
  expect(await loginFindings(deps)).toEqual([
    {
      level: 'warning',
      what: 'There is a login of "ada" at "desk" and no agent "ada", so it is unused.',
      fix: 'Forget it: quartermaster logout desk --agent ada',
    },
  ])
})

it('finds nothing where the store cannot be read, which is told of by others', async () => {
  const deps: LoginFindingsDeps = {
    project: {
      upstreams: () => new Map([['desk', UpstreamConfig.parse({ url: 'https://desk.example/mcp' })]]),
    } as LoginFindingsDeps['project'],
    core: { agents: { has: () => false } },
    upstreamAuth: async () => ({ agentsAt: () => Promise.reject(new Error('The store is damaged.')) }),
  }
  expect(await loginFindings(deps)).toEqual([])
})
