/** A place in the log of one workspace: behind this row. */
export interface ActivityCursor {
  readonly workspaceId: string
  readonly sequence: number
}

/** Cursors as text: `17@ws_…`. The workspace is in it, so that one of another log is never taken for a place in this one. */
export const activityCursor = {
  write: ({ workspaceId, sequence }: ActivityCursor): string => `${sequence}@${workspaceId}`,
  /** Nothing when it is none. */
  read(text: string): ActivityCursor | undefined {
    const [, digits, workspaceId] = /^(0|[1-9]\d{0,14})@([\w-]{1,128})$/.exec(text) ?? []
    return digits === undefined || workspaceId === undefined ? undefined : { sequence: Number(digits), workspaceId }
  },
}
