import { describe, expect, it } from 'vitest'
import { tempProject } from '../src/testing/temp-project.ts'
import { runProcess } from './support/product.ts'
import { ILL_SERVER } from './support/upstream-fixture.ts'

/** Programs that stand in for those of npm: one knows two packages, the other starts a server whatever it is asked for. */
const NPM = `#!${process.execPath}
const { appendFileSync } = require('node:fs')
const words = process.argv.slice(2)
appendFileSync(__dirname + '/asked', words.join(' ') + '\\n')
const known = {
  '@acme/server': { version: '3.1.4', 'dist-tags.latest': '3.1.4' },
  'other-server@^1.2': [{ version: '1.2.9', 'dist-tags.latest': '2.0.0' }, { version: '1.10.0', 'dist-tags.latest': '2.0.0' }],
}
const answer = known[words[1]]
if (answer) console.log(JSON.stringify(answer))
else process.exitCode = 1
`
const NPX = `#!${process.execPath}
require('node:fs').appendFileSync(__dirname + '/started', process.argv.slice(2).join(' ') + '\\n')
import(${JSON.stringify(ILL_SERVER)})
`

/** A project where `npm` and `npx` are ours. */
async function project(files: Record<string, unknown> = {}) {
  const folder = await tempProject({ 'project/quartermaster.config.json': '{}', ...files })
  await folder.write('bin/npm', NPM, 0o755)
  await folder.write('bin/npx', NPX, 0o755)
  const linesOf = async (file: string) => (await folder.read(file)).trim().split('\n')
  const home = folder.path('home')
  const env = { PATH: `${folder.path('bin')}:${process.env['PATH']}`, HOME: home, XDG_CONFIG_HOME: `${home}/.config` }
  return {
    folder,
    run: (...args: string[]) => runProcess(args, { cwd: folder.path('project'), env }),
    servers: async () => JSON.parse(await folder.read('project/quartermaster.config.json')).mcpServers,
    asked: () => linesOf('bin/asked'),
    started: () => linesOf('bin/started'),
  }
}

const question = (wanted: string) => `view ${wanted} version dist-tags.latest --json`

// The programs that stand in are scripts, which Windows does not start by their first line.
describe.skipIf(process.platform === 'win32')('a package whose version is to be written down', () => {
  it('is added in the version that npm names, and started in it', async () => {
    const { run, servers, asked, started } = await project()
    const added = await run('add', 'acme', '--pin', '--', 'npx', '-y', '@acme/server', '--root', '.')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringMatching(/^✓ .*it is up/) })
    expect(added.stdout).toContain('Pinned: @acme/server@3.1.4.')
    expect(await servers()).toMatchObject({ acme: { args: ['-y', '@acme/server@3.1.4', '--root', '.'] } })
    expect(await asked()).toEqual([question('@acme/server')])
    expect(new Set(await started())).toEqual(new Set(['-y @acme/server@3.1.4 --root .']))
  })

  it('is imported in the version that npm would take, and stays without one in the file it comes from', async () => {
    const text = JSON.stringify({
      mcpServers: {
        acme: { command: 'npx', args: ['-y', '@acme/server'] },
        other: { command: 'npx', args: ['other-server@^1.2'] },
        exact: { command: 'npx', args: ['-y', 'exact-server@0.9.0'] },
      },
    })
    const { folder, run, servers, asked } = await project({ 'home/.claude.json': text })
    expect(await run('import', 'claude', '--pin', '--yes')).toMatchObject({ code: 0 })
    expect(await servers()).toMatchObject({
      acme: { args: ['-y', '@acme/server@3.1.4'] },
      other: { args: ['other-server@1.10.0'] },
      exact: { args: ['-y', 'exact-server@0.9.0'] },
    })
    expect(await asked()).toEqual([question('@acme/server'), question('other-server@^1.2')])
    expect(await folder.read('home/.claude.json')).toBe(text)
  })

  it('stays as it was written where npm does not know it, with a message', async () => {
    const { run, servers } = await project()
    const added = await run('add', 'ghost', '--pin', '--', 'npx', '-y', 'ghost-server')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('Not pinned: npm could not say which') })
    expect(await servers()).toMatchObject({ ghost: { args: ['-y', 'ghost-server'] } })
  })

  it('is not looked up without a request', async () => {
    const { folder, run, servers } = await project()
    const added = await run('add', 'acme', '--', 'npx', '-y', '@acme/server')
    expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining('@acme/server@VERSION') })
    expect(await servers()).toMatchObject({ acme: { args: ['-y', '@acme/server'] } })
    await expect(folder.read('bin/asked')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
