import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { tempFolder } from '../../mcp-upstream/testing/child-desk.ts'
import { type ExposureOptions, exposesDataFolder } from './exposes-data-folder.ts'

/** A home with a project and a data folder in it, links to that, and folders beside it. */
async function home() {
  const home = join(await tempFolder(), 'home')
  const projectDir = join(home, 'project')
  const dataDir = join(projectDir, '.quartermaster')
  await mkdir(join(dataDir, 'attachments'), { recursive: true })
  for (const folder of ['project/docs/drafts', 'notes', 'project/my papers']) {
    await mkdir(join(home, folder), { recursive: true })
  }
  await writeFile(join(projectDir, 'server.mjs'), '')
  await writeFile(join(projectDir, 'settings'), '')
  await symlink(dataDir, join(projectDir, 'link'))
  await symlink(join(projectDir, 'docs'), join(projectDir, 'papers'))
  const fieldsOf = (entry: Partial<ExposureOptions>) =>
    exposesDataFolder({ command: 'server', args: [], env: {}, projectDir, dataDir, home, ...entry })
  /** Which of these arguments expose it, each by itself. */
  const exposing = async (args: readonly string[], entry: Partial<ExposureOptions> = {}) => {
    const fields = await Promise.all(args.map(arg => fieldsOf({ ...entry, args: [arg] })))
    return args.filter((_arg, i) => fields[i]?.includes('args'))
  }
  /** The same of scripts. */
  const exposingScripts = async (scripts: readonly string[], entry: Partial<ExposureOptions> = {}) => {
    const fields = await Promise.all(scripts.map(it => fieldsOf({ command: 'sh', ...entry, args: ['-c', it] })))
    return scripts.filter((_script, i) => fields[i]?.includes('args'))
  }
  return { home, projectDir, dataDir, fieldsOf, exposing, exposingScripts }
}

describe('arguments that expose the data folder', () => {
  it('are paths that hold it or lie in it, however they are written', async () => {
    const { projectDir, dataDir, exposing } = await home()
    const told = [
      '.',
      '..',
      './',
      '/',
      projectDir,
      `--root=${projectDir}`,
      '--root=..',
      '--root=.quartermaster',
      'ROOT=.',
      `${projectDir}:/work:ro`,
      `type=bind,src=${projectDir},dst=/work`,
      pathToFileURL(projectDir).href,
      `--root=${pathToFileURL(projectDir).href}`,
      `sqlite:///${dataDir}`,
      '.quartermaster',
      'link/attachments',
      join(dataDir, 'attachments'),
    ]
    const harmless = ['-y', '--verbose', '@scope/server', 'docs', './docs', '--root=docs', 'papers', 'server.mjs', '']
    const beside = ['my papers', '../notes', '--root=../notes', '.quartermaster-notes', 'gone/..x']
    const strange = ['file://elsewhere/x', 'https://example.com/', '--url=https://example.com/..', 'a=b:c', '{', '[1']
    expect(await exposing([...harmless, ...told, ...beside, ...strange])).toEqual(told)
  })

  it('are seen from where the child runs', async () => {
    const { exposing } = await home()
    expect(await exposing(['.', '..'], { cwd: 'docs' })).toEqual(['..'])
    expect(await exposing(['.', '..'], { cwd: '.' })).toEqual(['.', '..'])
  })

  it('may begin in the home folder', async () => {
    const { home: homeDir, exposing } = await home()
    const told = ['~', '~/', '~/project', '--root=~/project', '$HOME', '${HOME}/project', '--root=$HOME/project:/w']
    const harmless = ['~/notes', '$HOME/notes', '--root=${HOME}/notes', '~someone', '$HOMES/project', 'a~']
    expect(await exposing([...told, ...harmless])).toEqual(told)
    expect(await exposing(['~', '~/project'], { env: { HOME: join(homeDir, 'notes') } })).toEqual([])
  })

  it('may be JSON', async () => {
    const { projectDir, exposing } = await home()
    const told = [
      JSON.stringify({ roots: ['/nowhere', { path: projectDir }] }),
      JSON.stringify(['~/project']),
      JSON.stringify({ [projectDir]: 'rw' }),
      `--config=${JSON.stringify({ root: '.' })}`,
    ]
    const harmless = [JSON.stringify({ roots: ['docs', '~/notes'], depth: 1 }), '{"root":"docs"', '{}']
    expect(await exposing([...told, ...harmless])).toEqual(told)
  })

  it('may be commands in one piece for another program', async () => {
    const { projectDir, exposing } = await home()
    const told = [`npx -y server ${projectDir}`, 'serve --root="~/project" --fast', 'serve --root=$HOME/project']
    const harmless = ['Use / or . to separate them', 'serve docs ~/notes', 'npx -y server ./docs']
    expect(await exposing([...told, ...harmless])).toEqual(told)
  })
})

describe('scripts that expose the data folder', () => {
  it('have it among their words', async () => {
    const { projectDir, exposingScripts } = await home()
    const told = [
      'server .',
      `exec server --root=${projectDir} 2>&1`,
      `server "${projectDir}"`,
      `server '${projectDir}'|tee /dev/null`,
      'server ~/project',
      'server "$HOME"/project',
      'server ${HOME}/project',
      'server --root="$HOME/project"',
      'server $PWD',
      'server -v "$(pwd):/work"',
      'server `pwd`',
      'ROOT=. server',
      'true && server .quartermaster',
      'true\nserver ..',
      'cd docs && server ..',
      'cd docs; cd drafts; server "$PWD/../.."',
      'cd ~/project && server',
      'sh -c "server ."',
      'env A=b bash -lc "exec server ."',
    ]
    const harmless = [
      'server docs',
      'server ~/notes "$HOME/notes" $NOBODY',
      '. ./settings && server docs',
      'cd docs && server .',
      'cd docs && server "$PWD" drafts',
      'cd docs/drafts && server ..',
      "cd 'my papers' && server .",
      'cd my\\ papers; server .',
      'server $constructor <docs >/dev/null',
      'echo "unfinished',
      '',
    ]
    expect(await exposingScripts([...told, ...harmless])).toEqual(told)
  })

  it('have it in a variable that the entry sets', async () => {
    const { home: homeDir, exposingScripts } = await home()
    const scripts = ['server "$ROOT/project"', 'server "$ROOT/notes"']
    expect(await exposingScripts(scripts, { env: { ROOT: homeDir } })).toEqual(['server "$ROOT/project"'])
  })

  it.each([
    ['bash', ['-lc', 'server .']],
    ['/bin/zsh', ['-l', '-c', 'server .']],
    ['bash', ['-o', 'pipefail', '-c', 'server .']],
    ['env', ['-i', 'A=b', 'sh', '-c', 'server .']],
    ['sh', ['run.sh', '-c', '.']],
    ['sh', ['-c', 'server "$1"', 'sh', '.']],
  ])('are run by %s %j', async (command, args) => {
    const { fieldsOf } = await home()
    expect(await fieldsOf({ command, args })).toEqual(['args'])
  })

  it('are none where no shell is started', async () => {
    const { fieldsOf } = await home()
    expect(await fieldsOf({ command: 'grep', args: ['-c', 'server .'] })).toEqual([])
    expect(await fieldsOf({ command: 'bash', args: ['-lc', 'server docs'] })).toEqual([])
  })
})

describe('variables and working folders that expose the data folder', () => {
  it('are named', async () => {
    const { projectDir, fieldsOf } = await home()
    const env = {
      ROOT: projectDir,
      DIRS: '/nowhere:~/project',
      SETTINGS: '{"root":"$HOME"}',
      DOCS: 'docs',
      LEVEL: 'info',
    }
    expect(await fieldsOf({ env })).toEqual(['env.ROOT', 'env.DIRS', 'env.SETTINGS'])
    expect(await fieldsOf({ env: { ROOT: '.' }, args: ['docs'], cwd: 'docs' })).toEqual([])
    expect(await fieldsOf({ args: ['..'], cwd: '..' })).toEqual(['args', 'cwd'])
    expect(await fieldsOf({ cwd: '.' })).toEqual(['cwd'])
  })

  it('are none that every program has', async () => {
    const { home: homeDir, projectDir, fieldsOf } = await home()
    expect(await fieldsOf({})).toEqual([])
    expect(await fieldsOf({ env: { HOME: homeDir, PATH: `${projectDir}:/bin`, PYTHONPATH: '.' } })).toEqual([])
  })

  it('are told before the data folder is there, and not where it is elsewhere', async () => {
    const { home: homeDir, projectDir, fieldsOf } = await home()
    const entry = { args: ['.'], env: { ROOT: projectDir }, cwd: '.' }
    expect(await fieldsOf({ ...entry, dataDir: join(projectDir, 'new') })).toEqual(['args', 'env.ROOT', 'cwd'])
    expect(await fieldsOf({ ...entry, dataDir: join(homeDir, 'notes') })).toEqual([])
  })
})
