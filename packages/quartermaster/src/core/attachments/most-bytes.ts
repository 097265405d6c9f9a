import type { Settings } from '../../contracts/index.ts'

export type AttachmentSettings = Pick<Settings, 'attachmentMegabytes'>

const MEGABYTE = 1024 * 1024

/** The most that one attachment has. */
export function mostBytes({ attachmentMegabytes }: AttachmentSettings): number {
  return attachmentMegabytes * MEGABYTE
}
