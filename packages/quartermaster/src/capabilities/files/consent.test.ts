import { mkdir, symlink } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { builtinUnit } from '../../testing/builtin-unit.ts'
import { createHub, failureOf } from '../../testing/hub.ts'
import { tempProject } from '../../testing/temp-project.ts'
import filesModule from './index.ts'

const OWNER = { name: 'owner', via: 'owner' } as const

/** An agent that writes into a folder, asking a person for each file. */
async function desk(dirs = ['./out']) {
  const project = await tempProject({ 'out/seen.md': 'old' })
  const unit = builtinUnit(filesModule, {
    paths: { projectDir: project.dir, dataDir: project.path('.quartermaster') },
    secrets: { get: () => undefined },
  })
  const hub = await createHub({
    units: { files: unit },
    agents: { ada: { capabilities: { files: { dirs } } } },
    settings: { consentWaitSeconds: 0 },
  })
  /** Whether it was run, refused or asked about. */
  const write = async (path: string, createFolders = false) => {
    const before = new Set((await hub.consentServices('default').open()).map(({ id }) => id))
    const calling = hub.callAs('ada', 'write_file', { path, content: 'new', createFolders })
    let isOver = false
    const over = () => void (isOver = true)
    calling.then(over, over)
    // The files are real, so nobody knows when the next step is due.
    await expect.poll(() => hub.clock.advance(1).then(() => isOver), { interval: 1 }).toBe(true)
    const asked = (await hub.consentServices('default').open()).find(({ id }) => !before.has(id))
    if (asked) return { id: asked.id, scope: asked.asks[0]?.scope }
    return await calling.then(
      ({ result }) => result.structuredContent,
      () => failureOf(calling),
    )
  }
  return { project, hub, write }
}

describe('consent to a file', () => {
  it('that was denied is denied for every spelling of its path', async () => {
    const { project, hub, write } = await desk()
    await symlink(project.path('out/seen.md'), project.path('out/link.md'))
    for (const name of ['seen.md', 'unseen.md']) {
      const asked = await write(`out/${name}`)
      expect(asked).toMatchObject({ scope: project.path(`out/${name}`) })
      await hub
        .consentServices('default')
        .answer((asked as { id: string }).id, { decision: 'deny', lasting: 'always' }, OWNER)
    }
    const spellings = [
      'out/NAME',
      './out/NAME',
      'out//NAME',
      'out/../out/NAME',
      'NAME',
      './NAME',
      project.path('out/NAME'),
    ]
    for (const spelling of [...spellings, 'link.md'])
      expect(await write(spelling.replace('NAME', 'seen.md'))).toMatchObject({ code: 'CONSENT_DENIED' })
    for (const spelling of spellings)
      expect(await write(spelling.replace('NAME', 'unseen.md'))).toMatchObject({ code: 'CONSENT_DENIED' })
    expect(await project.read('out/seen.md')).toBe('old')
  })

  it('says nothing about a file of the same name in another folder', async () => {
    const { project, hub, write } = await desk()
    await mkdir(project.path('prod'))
    const asked = await write('a.md')
    await hub
      .consentServices('default')
      .answer((asked as { id: string }).id, { decision: 'allow', lasting: 'always' }, OWNER)
    expect(await write('a.md')).toMatchObject({ path: 'a.md' })
    await hub.setAgents({ ada: { capabilities: { files: { dirs: ['./prod'] } } } })
    expect(await write('a.md')).toMatchObject({ scope: project.path('prod/a.md') })
  })

  it('of one call does not count when the agent’s folder is another by then', async () => {
    const { project, hub, write } = await desk()
    await mkdir(project.path('prod'))
    const { id } = (await write('a.md')) as { id: string }
    await hub.setAgents({ ada: { capabilities: { files: { dirs: ['./prod'] } } } })
    hub.work()
    await hub.consentServices('default').answer(id, { decision: 'allow', lasting: 'once' }, OWNER)
    const scopes = async () => (
      await hub.clock.advance(5), (await hub.consentServices('default').open()).map(({ asks }) => asks[0]?.scope)
    )
    await expect.poll(scopes).toEqual([project.path('prod/a.md')])
    await hub.stop()
  })

  it('to a path that can be no file of the agent is for that call only', async () => {
    const { write } = await desk()
    expect(await write('../elsewhere.md')).toMatchObject({ scope: null })
  })
})
