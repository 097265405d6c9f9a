import { describe, expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../../testing/hub.ts'

const issues = simpleTool('github_issues', { ownName: 'issues' })
const UNSEEN = 'It has not been reached yet.'

/** Two servers that nobody has seen, of which the coder has one. What becomes of it when somebody needs it is the test's own. */
async function unseenServer(becomes: 'seen' | 'unseen') {
  const met: [unit: string, withinMs: number][] = []
  const hub = await createHub({
    kind: 'upstream',
    units: {
      github: { capabilities: [simpleCapability('github', [], { unseen: UNSEEN })] },
      gitlab: { capabilities: [simpleCapability('gitlab', [], { unseen: UNSEEN })] },
    },
    agents: { coder: { capabilities: { github: {} } } },
    async meetUnseen(unit, withinMs) {
      met.push([unit, withinMs])
      if (becomes === 'unseen') return
      hub.write('github', { capabilities: [simpleCapability('github', [issues])] })
      await hub.catalogue.reload()
    },
  })
  return { hub, met, unit: hub.catalogue.current().capabilities.get('github')?.unit }
}

describe('a call of what may be a tool of a server that nobody has seen', () => {
  it('has the server met, for as long as a call waits, and runs the tool', async () => {
    const { hub, met, unit } = await unseenServer('seen')
    expect((await hub.callAs('coder', 'github_issues')).result.content).toEqual([
      { type: 'text', text: 'github_issues' },
    ])
    expect(met).toEqual([[unit, 10_000]])
    await hub.callAs('coder', 'github_issues')
    expect(met).toHaveLength(1)
  })

  it('is told why there is none where that takes too long', async () => {
    const { hub } = await unseenServer('unseen')
    await expect(hub.callAs('coder', 'github_issues')).rejects.toMatchObject({
      code: 'TOOL_DISABLED',
      message: expect.stringContaining(UNSEEN),
    })
  })

  it('has no server met that its agent does not have', async () => {
    const { hub, met } = await unseenServer('seen')
    for (const tool of ['gitlab_issues', 'other'])
      await expect(hub.callAs('coder', tool)).rejects.toMatchObject({ code: 'TOOL_NOT_FOUND' })
    expect(met).toEqual([])
  })
})
