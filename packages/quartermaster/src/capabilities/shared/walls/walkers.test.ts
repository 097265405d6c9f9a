import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { tempProject } from '../../../testing/temp-project.ts'
import { createKeeper, Moved } from './pinned.ts'
import { createPathWalker } from './walkers.ts'

it('does not confirm a folder whose path led elsewhere meanwhile, even when it leads back', async () => {
  const { walker, root, path } = await walking()
  const folder = await walker.step(root, 'folder')
  await swap(path('work/folder'), path('outside'))
  await expect(walker.confirm(folder)).rejects.toBeInstanceOf(Moved)
})

it('does not open a file when a folder on the way to it led elsewhere meanwhile', async () => {
  const { walker, root, path } = await walking()
  const folder = await walker.step(root, 'folder')
  const file = await walker.step(folder, 'file')
  await swap(path('work/folder'), path('outside'))
  await expect(walker.open(file, 0)).rejects.toBeInstanceOf(Moved)
})

it('does not mind other files that come and go beside the one it opens', async () => {
  const { walker, root, path } = await walking()
  const folder = await walker.step(root, 'folder')
  const file = await walker.step(folder, 'file')
  await writeFile(path('work/folder/other'), 'x')
  await rm(path('work/folder/other'))
  await expect((await walker.open(file, 0)).readFile('utf8')).resolves.toBe('inside')
})

async function walking() {
  const project = await tempProject({ 'work/folder/file': 'inside', 'outside/file': 'OUTSIDE' })
  const keeper = createKeeper()
  onTestFinished(() => keeper.releaseAll())
  const walker = createPathWalker(keeper)
  return { walker, root: await walker.root(project.path('work')), path: project.path }
}

async function swap(thing: string, outside: string): Promise<void> {
  await rename(thing, `${thing}-parked`)
  await symlink(outside, thing)
  await rm(thing)
  await rename(`${thing}-parked`, thing)
}
