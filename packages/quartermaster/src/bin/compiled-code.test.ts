import { homedir } from 'node:os'
import { expect, it } from 'vitest'
import { keepCompiledCode } from './compiled-code.ts'

function foldersFor(env: NodeJS.ProcessEnv): string[] {
  const folders: string[] = []
  keepCompiledCode(env, { enableCompileCache: folder => folders.push(folder) })
  return folders
}

it('keeps compiled code in the cache folder of the user', () => {
  expect(foldersFor({})).toEqual([`${homedir()}/.cache/quartermaster/compiled`])
  expect(foldersFor({ XDG_CACHE_HOME: '/caches' })).toEqual(['/caches/quartermaster/compiled'])
})

it('does not keep it wherever it happens to be started', () => {
  expect(foldersFor({ XDG_CACHE_HOME: 'caches' })).toEqual(foldersFor({}))
})

it('starts on a Node that keeps nothing', () => {
  expect(() => keepCompiledCode({}, {})).not.toThrow()
})
