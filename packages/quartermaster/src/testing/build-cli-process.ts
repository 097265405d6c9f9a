import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** A folder with a runnable `quartermaster` made of `cli-process.ts`. */
export async function buildCliProcess(): Promise<{ dir: string; file: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), 'quartermaster-cli-'))
  const script = join(dir, 'cli-process.cjs')
  await build({
    entryPoints: [fileURLToPath(new URL('cli-process.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'silent',
  })
  const file = join(dir, 'quartermaster')
  await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`)
  await chmod(file, 0o755)
  return { dir, file, remove: () => rm(dir, { recursive: true, force: true }) }
}
