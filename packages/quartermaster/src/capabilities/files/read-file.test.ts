import { execFile } from 'node:child_process'
import { open, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { filesFixture } from '../../testing/files-fixture.ts'

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('read_file', () => {
  it('gives the text of a file, and how large it is', async () => {
    const desk = await filesFixture({ files: { 'work/a.md': '# Übung\r\nzwei\n' } })
    const said = await desk.read({ path: 'a.md' })
    expect(said.text).toBe('# Übung\r\nzwei\n')
    expect(said.data).toMatchObject({ kind: 'text', size: 15, firstLine: 1, lastLine: 2, totalLines: 2, more: false })
  })

  it('takes a path from the folder, from the project, or absolute inside', async () => {
    const desk = await filesFixture({ files: { 'work/a.md': 'one' } })
    for (const path of ['a.md', './a.md', 'work/a.md', 'x/../a.md', desk.project.path('work/a.md')]) {
      expect((await desk.read({ path })).data).toMatchObject({ path: 'a.md', text: 'one' })
    }
  })

  it('gives an empty file as an empty text', async () => {
    const desk = await filesFixture({ files: { 'work/empty': '' } })
    expect((await desk.read({ path: 'empty' })).data).toMatchObject({
      kind: 'text',
      text: '',
      totalLines: 0,
      more: false,
    })
  })

  it('reads a range of lines and says where to go on', async () => {
    const text = Array.from({ length: 10 }, (_, index) => `line ${index + 1}`).join('\n')
    const desk = await filesFixture({ files: { 'work/a.txt': text } })
    const middle = await desk.read({ path: 'a.txt', offset: 4, limit: 3 })
    expect(middle.data).toMatchObject({ text: 'line 4\nline 5\nline 6\n', lastLine: 6, more: true, nextOffset: 7 })
    const rest = await desk.read({ path: 'a.txt', offset: 7, limit: 4 })
    expect(rest.data).toMatchObject({ text: 'line 7\nline 8\nline 9\nline 10', totalLines: 10, more: false })
    const beyond = await desk.read({ path: 'a.txt', offset: 11 })
    expect(beyond).toMatchObject({ ok: false, text: '"a.txt" has 10 lines, so there is no line 11.' })
  })

  it('reads a range of a file that is too large to be read whole, characters across pieces included', async () => {
    const desk = await filesFixture({ maxFileBytes: 100_000 })
    const lines = Array.from({ length: 60_000 }, (_, index) => `ä${index + 1}€`)
    await writeFile(desk.project.path('work/big.log'), lines.join('\n'))
    const whole = await desk.read({ path: 'big.log' })
    expect(whole.ok).toBe(false)
    expect(whole.text).toMatch(/has .* KiB \(\d+ bytes\), more than is read at once. Give offset and limit/)
    const range = await desk.read({ path: 'big.log', offset: 50_000, limit: 2 })
    expect(range.data).toMatchObject({ text: 'ä50000€\nä50001€\n', nextOffset: 50_002 })
  })

  it('reads from the beginning of a file of many gigabytes without loading it', async () => {
    const desk = await filesFixture()
    const handle = await open(desk.project.path('work/huge'), 'w')
    await handle.write('first\nsecond\n'.repeat(10_000))
    await handle.truncate(50 * 1024 ** 3)
    await handle.close()
    const said = await desk.read({ path: 'huge', limit: 1 })
    expect(said.data).toMatchObject({ text: 'first\n', size: 50 * 1024 ** 3, nextOffset: 2 })
  })

  it('stops at whole lines when the text gets long, and cuts a line that is too long by itself', async () => {
    const desk = await filesFixture({ files: { 'work/long': `${'a'.repeat(60_000)}\n${'b'.repeat(150_000)}\nend\n` } })
    const first = await desk.read({ path: 'long' })
    expect(first.data).toMatchObject({ lastLine: 1, nextOffset: 2, cut: false })
    const second = await desk.read({ path: 'long', offset: 2 })
    expect(second.data).toMatchObject({ text: 'b'.repeat(100_000), cut: true, nextOffset: 3 })
    expect((await desk.read({ path: 'long', offset: 3 })).data).toMatchObject({ text: 'end\n', more: false })
  })

  it('reads UTF-8 and UTF-16 with a byte order mark', async () => {
    const desk = await filesFixture()
    const little = Buffer.from('\ufeffGrüße\n', 'utf16le')
    await writeFile(desk.project.path('work/bom'), '\ufeffGrüße\n')
    await writeFile(desk.project.path('work/le'), little)
    await writeFile(desk.project.path('work/be'), Buffer.from(little).swap16())
    for (const [path, encoding] of [
      ['bom', 'utf-8'],
      ['le', 'utf-16le'],
      ['be', 'utf-16be'],
    ]) {
      expect((await desk.read({ path })).data).toMatchObject({ text: 'Grüße\n', encoding })
    }
  })

  it('gives images as images, whatever they are called', async () => {
    const desk = await filesFixture()
    const webp = Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1')
    const images: [string, Buffer][] = [
      ['image/png', Buffer.from(PIXEL, 'base64')],
      ['image/jpeg', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0])],
      ['image/gif', Buffer.from('GIF89a\0', 'latin1')],
      ['image/webp', webp],
    ]
    for (const [mimeType, bytes] of images) {
      await writeFile(desk.project.path('work/picture.txt'), bytes)
      const { result } = await desk.read({ path: 'picture.txt' })
      expect(result.content).toEqual([{ type: 'image', mimeType, data: bytes.toString('base64') }])
    }
  })

  it('gives other bytes as an embedded resource that tells nothing of where the folder lies', async () => {
    const desk = await filesFixture()
    await writeFile(desk.project.path('work/a b.wasm'), Buffer.from([0, 97, 115, 109]))
    await writeFile(desk.project.path('work/latin1.txt'), Buffer.from('Grüße', 'latin1'))
    const wasm = await desk.read({ path: 'a b.wasm' })
    const resource = { uri: 'files:///a%20b.wasm', mimeType: 'application/wasm', blob: 'AGFzbQ==' }
    expect(wasm.result.content).toEqual([{ type: 'resource', resource }])
    expect(wasm.data).toMatchObject({ kind: 'binary', size: 4, more: false })
    expect((await desk.read({ path: 'latin1.txt' })).data).toMatchObject({ kind: 'binary' })
  })

  it('sees bytes that are no text also behind a long beginning of text', async () => {
    const desk = await filesFixture()
    await writeFile(desk.project.path('work/late'), Buffer.concat([Buffer.alloc(70_000, 'a\n'), Buffer.from([0xff])]))
    expect((await desk.read({ path: 'late', limit: 100_000 })).data).toMatchObject({ kind: 'binary', size: 70_001 })
  })

  it('refuses bytes over 1 MiB and names the size', async () => {
    const desk = await filesFixture()
    await writeFile(desk.project.path('work/big.bin'), Buffer.alloc(1024 * 1024 + 1))
    const said = await desk.read({ path: 'big.bin' })
    expect(said.ok).toBe(false)
    expect(said.text).toContain('1.0 MiB (1048577 bytes)')
  })

  it('suggests the name that was probably meant', async () => {
    const desk = await filesFixture({ files: { 'work/reports/summary.md': '' } })
    expect((await desk.read({ path: 'reports/sumary.md' })).text).toBe(
      'There is no "reports/sumary.md". Did you mean "reports/summary.md"?',
    )
    expect((await desk.read({ path: 'reprots/summary.md' })).text).toContain('Did you mean "reports"?')
    expect((await desk.read({ path: 'zzzzzzzz' })).text).toBe(
      'There is no "zzzzzzzz" in the folders you may use: "./work". See list_files.',
    )
  })

  it('refuses folders, pipes, sockets and devices at once', async () => {
    const desk = await filesFixture({ files: { 'work/sub/a': '' }, dirs: ['./work', '/dev'] })
    await promisify(execFile)('mkfifo', [desk.project.path('work/pipe')])
    expect((await desk.read({ path: './work/sub' })).text).toContain('is a folder; list it with list_files')
    expect((await desk.read({ path: './work/pipe' })).text).toContain('is a pipe, socket or device')
    expect((await desk.read({ path: '/dev/zero' })).text).toContain('is a pipe, socket or device')
  })

  it('gives up when the call is aborted', async () => {
    const desk = await filesFixture({ files: { 'work/a': 'text' } })
    const reason = new Error('gone')
    await expect(desk.read({ path: 'a' }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })
})
