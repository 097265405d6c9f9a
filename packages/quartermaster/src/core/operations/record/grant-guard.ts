/** What a commit that begins a run is refused by, when a grant that the run is allowed by is not there any more. */
export const GRANT_GUARD = 'grant.live'
