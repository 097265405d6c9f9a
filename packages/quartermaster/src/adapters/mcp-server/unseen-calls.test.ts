import { describe, expect, it } from 'vitest'
import { createHub, simpleCapability } from '../../testing/hub.ts'
import { connect, ERAS, frontOf } from './testing/front.ts'

/** A server that nobody has seen, and that never answers. */
async function hangingServer() {
  const met: string[] = []
  const hub = await createHub({
    kind: 'upstream',
    units: { github: { capabilities: [simpleCapability('github', [], { unseen: 'It has not been reached yet.' })] } },
    agents: { coder: { capabilities: { github: {} } } },
    connectUnseen(unit) {
      met.push(unit)
      return new Promise(() => {})
    },
  })
  return { hub, met }
}

const STOPPING = {
  isError: true,
  content: [{ type: 'text', text: expect.stringContaining('Quartermaster is stopping.') }],
  _meta: { 'quartermaster/error': { code: 'STOPPING' } },
}

describe('a call that waits for a server that nobody has seen', () => {
  it.each(ERAS)('is answered that all is stopping, to a client of the era %s', async era => {
    const { hub, met } = await hangingServer()
    const client = await connect(frontOf(hub), 'coder', era)
    const call = client.callTool({ name: 'github_issues' })
    await expect.poll(() => met).toHaveLength(1)
    hub.calls.stop()
    expect(await call).toMatchObject(STOPPING)
  })

  it('is answered so to a host program as well', async () => {
    const { hub, met } = await hangingServer()
    const toolbox = hub.mcp.toolbox(hub.agents.session('coder'), {})
    const call = toolbox.call('github_issues', {})
    await expect.poll(() => met).toHaveLength(1)
    hub.calls.stop()
    expect(await call).toMatchObject({ isError: true, content: STOPPING.content })
  })
})
