import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { StdioUpstream } from '../../../contracts/index.ts'
import { programPlaces, type WorkingFolderOptions, workingFolder } from '../../programs/index.ts'
import { startFailure } from './stdio-failure.ts'

export interface UnstartedProgram extends Pick<StdioUpstream, 'command' | 'env'>, WorkingFolderOptions {}

/** Why a program could not be started, in the words of one that was tried; nothing where only a start would tell. */
export async function foreseenFailure({ command, env, ...place }: UnstartedProgram): Promise<string | undefined> {
  try {
    const folder = await workingFolder(place)
    // Windows looks for programs in more ways than one.
    if (process.platform !== 'win32') await requireOne(programPlaces(command, folder, env['PATH']))
    return undefined
  } catch (error) {
    return startFailure(error, { command, cwd: resolve(place.projectDir, place.cwd ?? '.') })
  }
}

/** Throws what whoever starts a program would: that none is there, or that the one that is may not be run. */
async function requireOne(places: readonly string[]): Promise<void> {
  const looks = await Promise.allSettled(places.map(requireProgram))
  if (looks.some(look => look.status === 'fulfilled')) return
  const failures: unknown[] = looks.map(look => look.status === 'rejected' && look.reason)
  const refusal = failures.find(failure => failure instanceof Error && 'code' in failure && failure.code === 'EACCES')
  if (failures.length > 0) throw refusal ?? failures[0]
}

/** A folder may be entered, which is the same right, but not be run. */
async function requireProgram(place: string): Promise<void> {
  await access(place, constants.X_OK)
  if (!(await stat(place)).isFile()) throw Object.assign(new Error('It is no file.'), { code: 'EACCES' })
}
