"""Problems on a few gathered columns: fits, exchanges, relaxations, branch and bound; no scans."""
