import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onEnd } from './shared-fixture.ts'

/** A real folder that is gone after the test. */
export interface TempProject {
  readonly dir: string
  path(file: string): string
  write(file: string, content: string | Uint8Array, mode?: number): Promise<string>
  read(file: string): Promise<string>
}

/** Makes a project folder with these files. Texts and bytes are written as they are, other values as JSON. */
export async function tempProject(files: Record<string, unknown> = {}): Promise<TempProject> {
  const dir = await mkdtemp(join(tmpdir(), 'project-'))
  onEnd(() => rm(dir, { recursive: true, force: true }))
  const path = (file: string) => join(dir, file)
  const write = async (file: string, content: string | Uint8Array, mode?: number) => {
    await mkdir(dirname(path(file)), { recursive: true })
    await writeFile(path(file), content)
    if (mode !== undefined) await chmod(path(file), mode)
    return path(file)
  }
  for (const [file, value] of Object.entries(files))
    await write(file, typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value))
  return { dir, path, write, read: file => readFile(path(file), 'utf8') }
}
