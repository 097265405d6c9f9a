import { expect, it } from 'vitest'
import { createWithdrawnUpstreams, type WithdrawnUpstreamsDeps } from './agent-changes.ts'

/** Tells whose connections are left where, file by file. */
function stage() {
  const left: string[] = []
  let files: Record<string, string[] | 'broken'> = {}
  const agents = {
    entry: (name: string) => ({
      config:
        files[name] === 'broken'
          ? undefined
          : { capabilities: Object.fromEntries(files[name]?.map(key => [key, {}]) ?? []) },
    }),
  }
  const upstreams = {
    dismiss: (agent: string, upstream?: string) => void left.push(`${agent} at ${upstream ?? 'all'}`),
  }
  const withdrawn = createWithdrawnUpstreams({ agents, upstreams } as unknown as WithdrawnUpstreamsDeps)
  return (next: typeof files) => {
    files = next
    withdrawn(Object.keys(next))
    return left.splice(0)
  }
}

it('leaves what an agent has lost, and nothing that it or another has', () => {
  const read = stage()
  expect(read({ ada: ['desk', 'mail'], bob: ['desk'] })).toEqual([])
  expect(read({ ada: ['mail', 'more'], bob: ['desk'] })).toEqual(['ada at desk'])
  expect(read({ ada: ['desk'], bob: ['desk'] })).toEqual(['ada at mail', 'ada at more'])
})

it('waits for a file that cannot be read to say what is lost', () => {
  const read = stage()
  read({ ada: ['desk', 'mail'] })
  expect(read({ ada: 'broken' })).toEqual([])
  expect(read({ ada: ['mail'] })).toEqual(['ada at desk'])
})

it('leaves everything of an agent that is not there any more, once', () => {
  const read = stage()
  read({ ada: ['desk', 'mail'], bob: [], cy: 'broken' })
  expect(read({ bob: [] })).toEqual(['ada at all', 'cy at all'])
  expect(read({ ada: ['desk'] })).toEqual(['bob at all'])
})
