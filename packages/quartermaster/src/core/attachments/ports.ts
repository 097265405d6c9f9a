/** Hashes what comes piece by piece. */
export interface RunningDigest {
  add(bytes: Uint8Array): void
  /** SHA-256 of all of it, as lower-case hex. To be called once. */
  end(): string
}

/** Whose attachments somebody sees: all of the organisation's, or those of one workspace. */
export interface AttachmentReader {
  readonly organisation: string
  /** Null for persons and the owner, who see all. */
  readonly workspaceId: string | null
}

/** A file that is about to be handed in. */
export interface Upload extends AttachmentReader {
  /** The workspace or person that hands it in. */
  readonly by: string
  readonly name: string
  readonly mediaType: string
  /** What was said about its size before it came. */
  readonly announcedSize?: number | undefined
}
