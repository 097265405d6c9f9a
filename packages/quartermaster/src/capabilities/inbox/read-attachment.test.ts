import { describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, type Platform } from '../../contracts/index.ts'
import { createAttachmentService } from '../../core/attachments/index.ts'
import { openAttachments } from '../../testing/attachment-fixture.ts'
import { openMessages } from '../../testing/message-fixture.ts'
import { callTool, plainContext } from '../../testing/tool-fixture.ts'
import { createReadAttachment } from './read-attachment.ts'

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')

/** Ada's workspace, what she is sent, and how she reads it. */
async function reading() {
  const { store, organisation, workspaces } = await openMessages()
  const { ada } = await workspaces('ada', 'bob')
  const { attachments, receive } = openAttachments(store)
  const deps = { attachments, organisation, settings: DEFAULT_SETTINGS, folderOf: () => undefined }
  const desk: Platform['attachments'] = async () => createAttachmentService(deps)
  const read = (input: object, workspace = 'ada') => {
    const caller = { kind: 'agent', organisation: 'default', name: workspace, workspace } as const
    return callTool(createReadAttachment(desk), input, { ...plainContext({}), caller })
  }
  const own = async (content: string | Uint8Array, name = 'a.txt') =>
    (await receive(Buffer.from(content), { workspaceId: ada.id, by: 'ada', name })).id
  return { read, own }
}

describe('read_attachment', () => {
  it('shows a text as quoted text', async () => {
    const { read, own } = await reading()
    const attachment_id = await own('one\ntwo', 'plan "x".md')
    const { data, text } = await read({ attachment_id })
    expect(data).toMatchObject({ kind: 'text', text: 'one\ntwo', offset: 0, next_offset: null, size: 7 })
    expect(text).toContain('The file "plan \\"x\\".md"')
    expect(text).toMatch(/> one\n> two$/)
  })

  it('goes on with a long text where the page ended, and cuts no character in two', async () => {
    const { read, own } = await reading()
    const whole = `a${'😀'.repeat(75_000)}b`
    const attachment_id = await own(whole)
    let heard = ''
    for (let offset: unknown = 0; offset !== null; ) {
      const { data } = await read({ attachment_id, offset })
      expect(String(data.text)).not.toMatch(/[\ud800-\udbff]$/)
      heard += data.text
      offset = data.next_offset
    }
    expect(heard).toBe(whole)
    await expect(read({ attachment_id, offset: whole.length })).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  })

  it.each([
    ['an image as an image', PNG, 'x.txt', { kind: 'image', media_type: 'image/png' }],
    ['bytes that are no text as bytes', Buffer.from([0, 1, 2]), 'x.wasm', { kind: 'binary' }],
    [
      'text that turns out to be none as bytes',
      Buffer.concat([Buffer.alloc(300_000, 97), PNG]),
      'x',
      { kind: 'binary' },
    ],
    ['an empty file as an empty text', Buffer.alloc(0), 'x', { kind: 'text', text: '', next_offset: null }],
  ])('shows %s', async (_what, content, name, expected) => {
    const { read, own } = await reading()
    expect((await read({ attachment_id: await own(content, name) })).data).toMatchObject(expected)
  })

  it('refuses bytes that are too many, and says where they are to be had', async () => {
    const { read, own } = await reading()
    const attachment_id = await own(Buffer.alloc(1024 * 1024 + 1), 'x.bin')
    await expect(read({ attachment_id })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/"x\.bin".*up to 1\.0 MiB.*from the API/s),
    })
  })

  it('shows nothing that was not sent to the workspace, in the words for what is not there', async () => {
    const { read, own } = await reading()
    const attachment_id = await own('secret')
    const guess = 'att_nothing'
    const refusal = async (id: string) => {
      const error = await read({ attachment_id: id }, 'bob').catch((e: Error) => e)
      return String((error as Error).message).replace(id, 'ID')
    }
    expect(await refusal(attachment_id)).toContain('There is no attachment')
    expect(await refusal(attachment_id)).toBe(await refusal(guess))
  })
})
