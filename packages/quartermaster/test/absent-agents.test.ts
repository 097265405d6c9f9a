import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeProject, quartermaster, writeFiles } from './support/product.ts'

const AGENT = '{ "capabilities": {} }'

describe('an agent that does not exist', () => {
  it('is seen on the tokens it left behind, until it comes back', async () => {
    const dir = await makeProject({ 'agents/default.json': AGENT, 'agents/guest.json': AGENT })
    await quartermaster(['tokens', 'create', 'default'], { cwd: dir })
    await quartermaster(['tokens', 'create', 'guest'], { cwd: dir })
    await rm(join(dir, 'agents', 'guest.json'))
    const listed = await quartermaster(['tokens', '--json'], { cwd: dir })
    expect(listed.json<{ agent: string; state: string; agentMissing?: boolean }[]>()).toMatchObject([
      { agent: 'default', state: 'active' },
      { agent: 'guest', state: 'active', agentMissing: true },
    ])
    expect(listed.json<object[]>()[0]).not.toHaveProperty('agentMissing')
    await writeFiles(dir, { 'agents/guest.json': AGENT })
    expect((await quartermaster(['tokens', '--json'], { cwd: dir })).stdout).not.toContain('agentMissing')
  })

  it('is remarked on by `connect --print`, which prints its line all the same', async () => {
    const dir = await makeProject({ 'agents/guest.json': AGENT })
    const known = await quartermaster(['connect', '--print', 'claude', '--agent', 'guest'], { cwd: dir })
    expect([known.code, known.stderr]).toEqual([0, 'Run this:\n'])
    const unknown = await quartermaster(['connect', '--print', 'claude', '--agent', 'gest'], { cwd: dir })
    expect(unknown).toMatchObject({ code: 0, stdout: expect.stringContaining('connect --agent gest') })
    expect(unknown.stderr).toContain(`There is no agent "gest" in "${dir}". Did you mean "guest"?`)
  })
})

describe('a folder that is no project', () => {
  it('is remarked on by `connect --print`, and stays as it was', async () => {
    const dir = await realpath(await mkdtemp(join(tmpdir(), 'no-project-')))
    onTestFinished(() => rm(dir, { recursive: true, force: true }))
    const { code, stdout, stderr } = await quartermaster(['connect', '--print', 'claude'], { cwd: dir })
    expect([code, stdout]).toEqual([0, expect.stringContaining('claude mcp add')])
    expect(stderr).toContain(`"${dir}" is no project.`)
    expect(await readdir(dir)).toEqual([])
  })
})
