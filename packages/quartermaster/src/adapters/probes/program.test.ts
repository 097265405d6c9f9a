import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { program } from './index.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'probe-'))
  vi.stubEnv('PATH', [join(folder, 'missing'), folder, process.env.PATH].join(delimiter))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

const context = (signal = new AbortController().signal) => ({ signal, hasSecret: () => false })

async function script(name: string, body: string, mode = 0o755): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, `#!/bin/sh\n${body}\n`)
  await chmod(file, mode)
  return file
}

const askFor = (command: string, atLeast: string) => program({ command, version: { atLeast } }).run(context())

async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0)
    // A child that was killed stays in the table until its parent has noticed.
    return !/\) Z /.test(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))
  } catch {
    return false
  }
}

describe.skipIf(process.platform === 'win32')('program', () => {
  it('finds a program on the PATH', async () => {
    await script('probe-tool', 'exit 1')
    expect(await program({ command: 'probe-tool' }).run(context())).toEqual({ up: true })
    expect(await program({ command: 'probe-tool-missing' }).run(context())).toEqual({
      up: false,
      reason: '"probe-tool-missing" is not on the PATH.',
    })
  })

  it('passes over files that cannot be run and folders of the same name', async () => {
    await script('probe-text', '', 0o644)
    await mkdir(join(folder, 'probe-folder'))
    for (const command of ['probe-text', 'probe-folder']) {
      expect(await program({ command }).run(context())).toEqual({
        up: false,
        reason: `"${command}" is not on the PATH.`,
      })
    }
  })

  it('does not look in the working folder', async () => {
    vi.stubEnv('PATH', `${delimiter}${delimiter}`)
    expect(await program({ command: 'package.json' }).run(context())).toMatchObject({ up: false })
  })

  it('takes a path as it is', async () => {
    const file = await script('probe-tool', '')
    const text = await script('probe-text', '', 0o644)
    expect(await program({ command: file }).run(context())).toEqual({ up: true })
    expect(await program({ command: text }).run(context())).toEqual({
      up: false,
      reason: `"${text}" is not executable.`,
    })
    expect(await program({ command: `${file}-no` }).run(context())).toEqual({
      up: false,
      reason: `There is no program at "${file}-no".`,
    })
  })

  it('compares versions number by number', async () => {
    await script('probe-tool', 'echo "probe-tool version n18.1.0-3ubuntu5 Copyright (c) 2000-2026"')
    for (const version of ['18', '18.1', '18.1.0', '9.99', '17.200.1'])
      expect(await askFor('probe-tool', version)).toEqual({ up: true })
    for (const version of ['20', '18.2', '18.1.1', '18.10']) {
      expect(await askFor('probe-tool', version)).toEqual({
        up: false,
        reason: `"probe-tool" is 18.1.0, at least ${version} is needed.`,
      })
    }
  })

  it('reads the version from standard error too, and asks as it is told', async () => {
    await script('probe-java', '[ "$1" = -version ] && echo "17.0.1" >&2')
    const probe = program({ command: 'probe-java', versionArgs: ['-version'], version: { atLeast: '17' } })
    expect(await probe.run(context())).toEqual({ up: true })
    expect(probe.describe).toEqual({ kind: 'program', command: 'probe-java', versionArgs: ['-version'], atLeast: '17' })
  })

  it('hands arguments over without a shell', async () => {
    await script('probe-tool', 'echo "1.0 $1"')
    const probe = program({
      command: 'probe-tool',
      versionArgs: [`$(touch ${join(folder, 'made')})`],
      version: { atLeast: '1' },
    })
    expect(await probe.run(context())).toEqual({ up: true })
    await expect(readFile(join(folder, 'made'))).rejects.toThrow('ENOENT')
  })

  it('keeps its own environment to itself', async () => {
    vi.stubEnv('PROBE_SECRET', '99')
    await script('probe-tool', 'echo "$PROBE_SECRET" 1.0')
    expect(await askFor('probe-tool', '2')).toMatchObject({ reason: '"probe-tool" is 1.0, at least 2 is needed.' })
  })

  it('is down when the program fails or cannot be started', async () => {
    await script('probe-failing', 'echo "libfoo.so.1.2 is missing" >&2; exit 127')
    expect(await askFor('probe-failing', '1')).toEqual({
      up: false,
      reason: '"probe-failing" ended with code 127 when asked for its version.',
    })
    const orphan = join(folder, 'probe-orphan')
    await writeFile(orphan, '#!/no/such/interpreter\n')
    await chmod(orphan, 0o755)
    expect(await askFor('probe-orphan', '1')).toEqual({
      up: false,
      reason: '"probe-orphan" cannot be started (ENOENT).',
    })
  })

  it('cannot tell when no version is printed', async () => {
    await script('probe-tool', 'echo hello')
    await expect(askFor('probe-tool', '1')).rejects.toThrow('"probe-tool" did not print a version.')
  })

  it('stops a program that does not stop printing', async () => {
    await script('probe-tool', 'echo 1.2.3; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done')
    expect(await askFor('probe-tool', '1.2.3')).toEqual({ up: true })
  })

  it('ends with the signal and takes along what the program started', async () => {
    const pids = join(folder, 'pids')
    await script(
      'probe-tool',
      `trap '' TERM; sleep 1000 & echo $$ $! > ${pids}.new; mv ${pids}.new ${pids}; echo 1.0; wait`,
    )
    const controller = new AbortController()
    const reason = new Error('deadline')
    const probe = program({ command: 'probe-tool', version: { atLeast: '1' } })
    const running = probe.run(context(controller.signal))
    const started = await vi.waitFor(() => readFile(pids, 'utf8'), { timeout: 300_000 })
    controller.abort(reason)
    await expect(running).rejects.toBe(reason)
    await vi.waitFor(
      async () => {
        for (const pid of started.trim().split(' ')) expect(await isRunning(Number(pid))).toBe(false)
      },
      { timeout: 300_000 },
    )
    await expect(probe.run(context(AbortSignal.abort(reason)))).rejects.toBe(reason)
  })

  it('does not wait for what the program left running behind it', async () => {
    const pids = join(folder, 'pids')
    await script('probe-tool', `sleep 1000 & echo $! > ${pids}; echo 1.0`)
    expect(await askFor('probe-tool', '1')).toEqual({ up: true })
    const pid = Number(await readFile(pids, 'utf8'))
    await expect.poll(() => isRunning(pid)).toBe(false)
  })
})
