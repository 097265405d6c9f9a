import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** Where a program may be: at its path, or in one of the folders for programs. */
export function programPlaces(command: string, folder: string, path = process.env.PATH ?? ''): string[] {
  if (isAbsolute(command) || command.includes('/')) return [resolve(folder, command)]
  const folders = path.split(delimiter).filter(one => one !== '')
  return folders.map(one => join(one, command))
}
